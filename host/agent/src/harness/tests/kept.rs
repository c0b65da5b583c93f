//! Results that are too large for the model, in whole runs.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

use futures::future::BoxFuture;
use hotcell_core::limits::{Limits, Oversized};
use hotcell_core::model::ModelReply;
use hotcell_core::outcome::Outcome;
use hotcell_core::results::{ResultHandle, ResultStore, ResultStoreError};
use serde_json::json;

use super::support::{add, harness, request, results, script};
use crate::harness::RunResult;
use crate::host_tool::HostTool;
use crate::memory_results::MemoryResults;
use crate::scripted_model::{ScriptedModel, call_reply, text_reply};
use crate::tool_set::Offer;

/// `say(length)`: a text of so many characters; `fail(length)`: the same as the words of a failure.
fn talkers() -> [Offer; 2] {
    let schema = json!({"type": "object", "properties": {"length": {"type": "integer"}}});
    let text = |length: &serde_json::Value| {
        "ab\n"
            .repeat(400_000)
            .chars()
            .take(usize::try_from(length.as_u64().unwrap()).unwrap())
            .collect::<String>()
    };
    let say = HostTool::define("say", "")
        .unwrap()
        .pure()
        .input_schema(schema.clone())
        .handler(move |arguments| async move { text(&arguments["length"]) });
    let fail = HostTool::define("fail", "")
        .unwrap()
        .pure()
        .input_schema(schema)
        .handler(move |arguments| async move { Err::<String, _>(text(&arguments["length"])) });
    [Offer::new(say, "line"), Offer::new(fail, "line")]
}

fn say(length: usize) -> ModelReply {
    call_reply([("c1", "say", format!(r#"{{"length": {length}}}"#).as_str())])
}

fn read(arguments: &str) -> ModelReply {
    call_reply([("c2", "read_tool_result", arguments)])
}

async fn run(replies: impl IntoIterator<Item = ModelReply>, limits: Limits) -> RunResult {
    harness(script(replies), talkers()).run(request("go").limits(limits)).await.unwrap()
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// H-14.
#[tokio::test]
async fn a_result_over_the_limit_is_kept_out_of_the_context_and_one_at_the_limit_is_not() {
    let texts = results(&run([say(12_000), say(12_001), text_reply("ok")], Limits::default()).await);
    assert_eq!(chars(&texts[0]), 12_000);
    assert!(!texts[0].starts_with('['));
    assert!(
        texts[1].starts_with("[Only a part of this result is shown: ") && chars(&texts[1]) < 4_000,
        "{}",
        texts[1]
    );
    // The words of a failure count too, with what the host says of it.
    let limits = Limits { max_result_chars: NonZeroUsize::new(1_000).unwrap(), ..Limits::default() };
    let failed = call_reply([("c1", "fail", r#"{"length": 3000}"#)]);
    let result =
        run([failed, read(r#"{"result_id":"r1","pattern":"^error: "}"#), text_reply("ok")], limits).await;
    let texts = results(&result);
    assert!(texts[0].starts_with("[Only a part") && chars(&texts[0]) <= 1_000, "{}", texts[0]);
    assert!(texts[1].contains("\nerror: tool_error\n"), "{}", texts[1]);
    assert_eq!(result.calls[0].report.as_ref().unwrap().outcome, Outcome::ToolError);
}

/// H-27, H-31, H-32.
#[tokio::test]
async fn a_kept_result_is_read_whole_or_in_parts_without_an_approval() {
    let whole: String = "ab\n".repeat(400_000).chars().take(12_001).collect();
    let replies = [
        say(12_001),
        read(r#"{"result_id":"r1"}"#),
        read(r#"{"result_id":"r1","offset":1,"limit":2}"#),
        read(r#"{"result_id":"r2"}"#),
        read(r#"{"result_id":"r1","offset":9999}"#),
        text_reply("ok"),
    ];
    let model = script(replies);
    let result = harness(Arc::clone(&model) as _, talkers()).run(request("go")).await.unwrap();
    let texts = results(&result);
    assert_eq!(texts[1], whole, "a result that only just was too large comes back whole");
    assert!(texts[2].ends_with("]\nab\nab\n"), "{}", texts[2]);
    assert!(
        texts[3].starts_with("error: tool_error\nmessage: No result of this run has the id `r2`."),
        "{}",
        texts[3]
    );
    assert!(texts[4].contains("There is nothing at this place"), "{}", texts[4]);
    let tools = &model.requests()[0].tools;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["say", "fail", "read_tool_result"]);
    let properties = tools[2].input_schema["properties"].as_object().unwrap();
    let defaults: Vec<_> =
        properties.iter().map(|(name, schema)| (name.as_str(), schema["default"].clone())).collect();
    assert_eq!(
        defaults,
        [
            ("result_id", json!(null)),
            ("offset", json!(0)),
            ("limit", json!(2_000)),
            ("char_offset", json!(0)),
            ("max_chars", json!(0)),
            ("pattern", json!(""))
        ]
    );
}

/// H-31.
#[tokio::test]
async fn a_tool_of_the_application_with_the_readers_name_stays_the_only_one() {
    let own = HostTool::define("read_tool_result", "Mine.").unwrap().pure().handler(|_| async { "mine" });
    let model = script([read("{}"), text_reply("ok")]);
    let offers = [Offer::new(own, "line")];
    let result = harness(Arc::clone(&model) as _, offers).run(request("go")).await.unwrap();
    assert_eq!((results(&result)[0].as_str(), model.requests()[0].tools.len()), ("mine", 1));
}

/// H-34.
#[tokio::test]
async fn a_read_is_never_kept_again_at_a_small_limit() {
    for limit in [1, 2, 60, 100, 300, 1_000] {
        let limits = Limits { max_result_chars: NonZeroUsize::new(limit).unwrap(), ..Limits::default() };
        let replies =
            [say(5_000), read(r#"{"result_id":"r1"}"#), read(r#"{"result_id":"r2"}"#), text_reply("ok")];
        let texts = results(&run(replies, limits).await);
        assert!(texts[..2].iter().all(|text| chars(text) <= limit), "{limit}: {texts:?}");
        assert!(texts[2].starts_with('e'), "{limit}: only one result was kept: {}", texts[2]);
    }
}

#[tokio::test]
async fn a_result_of_one_run_cannot_be_read_in_another() {
    let harness = harness(
        Arc::new(ScriptedModel::new([
            Ok(say(20_000)),
            Ok(text_reply("ok")),
            Ok(read(r#"{"result_id":"r1"}"#)),
            Ok(text_reply("ok")),
        ])),
        talkers(),
    );
    harness.run(request("one")).await.unwrap();
    let second = harness.run(request("two")).await.unwrap();
    assert!(results(&second)[0].contains("No result of this run has the id `r1`"), "{:?}", results(&second));
}

#[tokio::test]
async fn a_conversation_that_brings_its_store_reads_results_of_earlier_runs() {
    let store: Arc<dyn ResultStore> = Arc::new(MemoryResults::default());
    let model =
        script([say(20_000), text_reply("ok"), read(r#"{"result_id":"r1","limit":1}"#), text_reply("ok")]);
    let harness = harness(model, talkers());
    let first = harness.run(request("one").results(Arc::clone(&store))).await.unwrap();
    let second = harness.run(request("two").history(&first.transcript).results(store)).await.unwrap();
    assert!(results(&second)[1].ends_with("]\nab\n"), "{:?}", results(&second)[1]);
}

/// A store whose disk is full.
struct Full;

impl ResultStore for Full {
    fn put(&self, _text: Arc<str>) -> BoxFuture<'_, Result<ResultHandle, ResultStoreError>> {
        Box::pin(async { Err(ResultStoreError("the disk is full".to_owned())) })
    }

    fn read(&self, _handle: ResultHandle) -> BoxFuture<'_, Result<Option<Arc<str>>, ResultStoreError>> {
        Box::pin(async { Ok(None) })
    }
}

/// A store that never answers.
struct Stuck;

impl ResultStore for Stuck {
    fn put(&self, _text: Arc<str>) -> BoxFuture<'_, Result<ResultHandle, ResultStoreError>> {
        Box::pin(std::future::pending())
    }

    fn read(&self, _handle: ResultHandle) -> BoxFuture<'_, Result<Option<Arc<str>>, ResultStoreError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_written_means_a_cut_result_and_a_warning() {
    let small = Limits {
        oversized: Oversized::Spill { max_bytes: NonZeroU64::new(19_999).unwrap() },
        ..Limits::default()
    };
    let cases: [(Arc<dyn ResultStore>, Limits, &str); 3] = [
        (Arc::new(Full), Limits::default(), "the disk is full"),
        (Arc::new(Stuck), Limits::default(), "the store took longer than 2 seconds"),
        (
            Arc::new(MemoryResults::default()),
            small,
            "20000 bytes are more than the 19999 bytes the run may still keep",
        ),
    ];
    for (store, limits, reason) in cases {
        let harness = harness(script([say(20_000), text_reply("ok")]), talkers());
        let result = harness.run(request("go").limits(limits).results(store)).await.unwrap();
        let texts = results(&result);
        assert!(texts[0].ends_with("\n[... 8,000 more characters]"), "{reason}");
        assert_eq!(chars(&texts[0]), 12_000 + 28);
        let warning = result.calls[0].warning.as_deref().unwrap();
        assert_eq!(warning, format!("a result was cut instead of kept: {reason}"));
        assert!(result.ok());
    }
}

/// P-41.
#[tokio::test]
async fn the_strict_preset_cuts_and_offers_no_reader() {
    let model = script([say(20_000), text_reply("ok")]);
    let run = harness(Arc::clone(&model) as _, talkers());
    let result = run.run(request("go").limits(Limits::strict())).await.unwrap();
    assert!(results(&result)[0].ends_with("\n[... 4,000 more characters]"));
    assert_eq!(model.requests()[0].tools.len(), 2);
}

#[tokio::test]
async fn a_long_call_id_does_not_matter_to_what_is_kept() {
    let id = "i".repeat(300);
    let call = call_reply([(id.as_str(), "say", r#"{"length": 20000}"#)]);
    let result =
        run([call, read(r#"{"result_id":"r1","limit":1}"#), text_reply("ok")], Limits::default()).await;
    assert!(result.ok() && results(&result)[1].ends_with("]\nab\n"));
}

#[tokio::test]
async fn a_run_without_large_results_is_as_it_was() {
    let model = script([call_reply([("c1", "add", r#"{"a": 1, "b": 2}"#)]), text_reply("3")]);
    let result = harness(model, [add()]).run(request("go")).await.unwrap();
    assert_eq!((results(&result), result.calls[0].warning.clone()), (vec![r#"{"sum":3}"#.to_owned()], None));
}

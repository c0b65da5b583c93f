//! Cases in which older harnesses fall short, one test each, with what has to happen here.
//!
//! What needs a component, a file or a whole process is tested where those are: endless loops, memory and results
//! without end in `tests/it`, the folder of kept results in `host/hotcell/src/result_folder`.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::approval::{ApproverError, Decision};
use hotcell_core::limits::Limits;
use hotcell_core::model::{ModelError, ReplyStop};
use hotcell_core::outcome::Outcome;
use serde_json::json;
use tokio::time::Instant;

use super::support::{Approves, Counter, add, harness, nap, request, results, script, touch};
use crate::harness::HarnessConfig;
use crate::host_tool::HostTool;
use crate::scripted_model::{ScriptedModel, call_reply, text_reply};
use crate::status::ErrorKind;
use crate::tool_set::{Offer, ToolSet, ToolSetError};

/// A tool that takes three seconds and then writes is stopped at the run's half a second, and never writes.
#[tokio::test(start_paused = true)]
async fn a_tool_that_outlasts_the_run_has_no_effect_afterwards() {
    let file = Counter::default();
    let written = file.clone();
    let tool = HostTool::define("write_late", "").unwrap().pure().handler(move |_| {
        let written = written.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            written.add();
            "written"
        }
    });
    let limits = Limits { max_time: Some(Duration::from_millis(500)), ..Limits::default() };
    let model = script([call_reply([("c1", "write_late", "{}")])]);
    let began = Instant::now();
    let result = harness(model, [Offer::new(tool, "line")]).run(request("go").limits(limits)).await.unwrap();
    assert!(began.elapsed() <= Duration::from_millis(600), "{:?}", began.elapsed());
    assert_eq!((result.outcome(), results(&result).len()), ("timeout", 1));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(file.get(), 0);
}

/// Sixty-four tools that hang do not keep a healthy one, of another run, from answering.
#[tokio::test(start_paused = true)]
async fn tools_that_hang_keep_no_other_run_waiting() {
    let effect = Counter::default();
    let stuck = harness(
        script([call_reply([("c1", "nap", r#"{"ms": 3600000}"#)]), text_reply("late")]),
        [nap(&effect)],
    );
    let healthy =
        harness(script([call_reply([("c1", "add", r#"{"a": 1, "b": 2}"#)]), text_reply("3")]), [add()]);
    let hanging = futures::future::join_all((0..64).map(|_| stuck.run(request("hang"))));
    let quick = async {
        let began = Instant::now();
        let result = healthy.run(request("add")).await.unwrap();
        assert!(result.ok() && began.elapsed() < Duration::from_millis(10), "{:?}", began.elapsed());
    };
    tokio::select! {
        _ = hanging => panic!("tools that hang for an hour ended first"),
        () = quick => {}
    }
}

/// A schema that points elsewhere is refused when the tools are put together; nothing is fetched.
#[test]
fn a_schema_that_refers_to_an_address_is_refused_at_registration() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}});
    let tool = HostTool::define("remote", "").unwrap().input_schema(schema).handler(|_| async { "" });
    let error = ToolSet::new([Offer::new(tool, "line")]).unwrap_err();
    assert!(matches!(error, ToolSetError::Schema { which: "input", .. }), "{error}");
}

/// An argument that is not a number any more is an error result, and the run goes on.
#[tokio::test]
async fn a_number_that_is_none_is_an_error_result() {
    let model = script([call_reply([("c1", "add", r#"{"a": NaN, "b": 1}"#)]), text_reply("ok")]);
    let result = harness(model, [add()]).run(request("go")).await.unwrap();
    assert!(result.ok() && results(&result)[0].starts_with("error: invalid_args\n"));
}

/// A tool that panics is an error result, and the run goes on.
#[tokio::test]
async fn a_tool_that_panics_is_an_error_result() {
    let tool = HostTool::define("panics", "").unwrap().pure().handler(|_| async {
        if true {
            panic!("gone");
        }
        ""
    });
    let model = script([call_reply([("c1", "panics", "{}")]), text_reply("ok")]);
    let result = harness(model, [Offer::new(tool, "line")]).run(request("go")).await.unwrap();
    assert!(result.ok());
    assert_eq!(result.calls[0].report.as_ref().unwrap().outcome, Outcome::Internal);
}

/// Duplicate and empty ids are refused before anybody is asked, and the transcript is kept.
#[tokio::test]
async fn bad_ids_are_refused_before_approvals_and_keep_the_transcript() {
    for second in
        [[("c2", "touch", "{}"), ("c2", "touch", "{}")], [("c2", "touch", "{}"), ("", "touch", "{}")]]
    {
        let ran = Counter::default();
        let model = script([call_reply([("c1", "add", r#"{"a": 1, "b": 2}"#)]), call_reply(second)]);
        let approver = Arc::new(Approves(Duration::ZERO, Ok(Decision::Approve)));
        let run = request("go").approver(approver);
        let result = harness(model, [add(), touch(&ran)]).run(run).await.unwrap();
        assert_eq!(result.error.as_ref().unwrap().kind, ErrorKind::MalformedReply);
        let asked = super::support::names(&result).iter().any(|name| name.starts_with("approval_required"));
        assert_eq!(
            (ran.get(), asked, results(&result).as_slice()),
            (0, false, &[r#"{"sum":3}"#.to_owned()][..])
        );
    }
}

/// An error of the provider in the second turn, or of an approver after an effect, leaves the transcript.
#[tokio::test]
async fn errors_after_an_effect_keep_the_transcript() {
    let down = ModelError::Provider { message: "down".into(), status: Some(503) };
    let first = || call_reply([("c1", "add", r#"{"a": 1, "b": 2}"#)]);
    let by_provider = ScriptedModel::new([Ok(first()), Err(down)]);
    let by_approver = ScriptedModel::new([Ok(first()), Ok(call_reply([("c2", "touch", "{}")]))]);
    for (model, kind) in [(by_provider, ErrorKind::Provider), (by_approver, ErrorKind::Approval)] {
        let ran = Counter::default();
        let approver = Arc::new(Approves(Duration::ZERO, Err(ApproverError("gone".into()))));
        let run = request("go").approver(approver);
        let result = harness(Arc::new(model), [add(), touch(&ran)]).run(run).await.unwrap();
        assert_eq!((result.error.as_ref().unwrap().kind, ran.get()), (kind, 0));
        assert_eq!(results(&result)[0], r#"{"sum":3}"#);
    }
}

/// A reply that was cut is never taken for a whole answer.
#[tokio::test]
async fn a_cut_reply_is_visible() {
    let mut cut = text_reply("The answer is");
    cut.stop = ReplyStop::MaxTokens;
    let result = harness(script([cut]), []).run(request("go").limits(Limits::strict())).await.unwrap();
    assert_eq!((result.outcome(), result.ok()), ("truncated", false));
}

/// Four calls of 0.3 seconds take as long as one where they may run at once.
#[tokio::test(start_paused = true)]
async fn a_batch_runs_at_once_where_that_is_configured() {
    let effect = Counter::default();
    let calls = ["c1", "c2", "c3", "c4"].map(|id| (id, "nap", r#"{"ms": 300}"#));
    let config = HarnessConfig {
        concurrent_calls: std::num::NonZeroUsize::new(4).unwrap(),
        ..HarnessConfig::default()
    };
    let harness = harness(script([call_reply(calls), text_reply("ok")]), [nap(&effect)]).with_config(config);
    let result = harness.run(request("go")).await.unwrap();
    assert_eq!((result.elapsed.as_millis(), effect.get()), (300, 4));
}

/// At the turn limit the last reply is asked for with the tools declared and forbidden.
#[tokio::test]
async fn the_last_reply_may_call_no_tool() {
    let model = script([call_reply([("c1", "add", "{}")]), text_reply("all I know")]);
    let limits = Limits { max_turns: std::num::NonZeroU32::new(1), ..Limits::default() };
    let result = harness(Arc::clone(&model) as _, [add()]).run(request("go").limits(limits)).await.unwrap();
    assert_eq!(result.outcome(), "limited");
    assert_eq!(model.requests()[1].tool_choice, hotcell_core::model::ToolChoice::None);
}

/// A thousand calls in one reply are refused whole above the cap, and each is answered.
#[tokio::test]
async fn a_flood_of_calls_in_one_reply_is_refused_whole() {
    let ids: Vec<String> = (0..1_000).map(|n| format!("c{n}")).collect();
    let flood = call_reply(ids.iter().map(|id| (id.as_str(), "add", "{}")));
    let result = harness(script([flood, text_reply("ok")]), [add()]).run(request("go")).await.unwrap();
    assert_eq!((result.ok(), results(&result).len(), result.tool_calls), (true, 1_000, 0));
}

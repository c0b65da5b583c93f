//! What a model may send to break a run: ids, names, replies and batches as it should not write them.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use hotcell_core::limits::Limits;
use hotcell_core::message::Message;
use hotcell_core::outcome::Outcome;
use hotcell_core::results::ResultStore;
use serde_json::json;

use super::support::{Counter, add, harness, names, request, results, script, touch};
use crate::harness::RunResult;
use crate::host_tool::HostTool;
use crate::memory_results::MemoryResults;
use crate::scripted_model::{call_reply, text_reply};
use crate::status::ErrorKind;
use crate::tool_set::Offer;

/// `page()`: a result larger than the model may read; the keys it was called with are kept.
fn page(keys: &Arc<Mutex<Vec<String>>>) -> Offer {
    let keys = Arc::clone(keys);
    let tool = HostTool::define("page", "").unwrap().pure().handler_with_context(move |context, _| {
        keys.lock().unwrap().push(context.idempotency_key.unwrap().to_string());
        async { "line\n".repeat(1_000) }
    });
    Offer::new(tool, "line")
}

fn answered(result: &RunResult) -> Vec<String> {
    let of = |message: &Message| match message {
        Message::Tool { call_id, .. } => Some(call_id.clone()),
        _ => None,
    };
    result.transcript.messages().iter().filter_map(|message| of(message)).collect()
}

// L-01
/// P-11, P-12.
///
/// Ids of any length and kind, and ids that were used before: each call runs once, is answered under its
/// own id, has a key of its own, and is known to the host by an id of the host's.
#[tokio::test]
async fn ids_of_any_length_and_ids_used_before_name_one_call_each() {
    let long = "i".repeat(300);
    let huge = "j".repeat(10 << 10);
    let ids = [long.as_str(), &huge, "../../x", "a\0b\u{1b}[2J\u{202e}", "😀", " ", "run:0:1", "toolu_1"];
    let keys = Arc::default();
    let batch = || call_reply(ids.map(|id| (id, "page", "{}")));
    let model = script([batch(), batch(), text_reply("done")]);
    let limits = Limits { max_result_chars: NonZeroUsize::new(500).unwrap(), ..Limits::default() };
    let result = harness(model, [page(&keys)]).run(request("go").limits(limits)).await.unwrap();
    assert_eq!((result.outcome(), result.tool_calls), ("completed", 16));
    assert_eq!(answered(&result), [ids, ids].concat());
    assert!(result.calls.iter().all(|call| call.report.as_ref().unwrap().outcome == Outcome::Ok));
    assert!(result.calls.iter().all(|call| call.warning.is_none()), "each result could be kept");
    let mut keys = keys.lock().unwrap().clone();
    assert!(keys.iter().all(|key| key.len() <= 256));
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 16);
    let own: Vec<_> = result.calls.iter().map(|call| call.call.as_str()).collect();
    assert_eq!((own[0], own[7], own[8]), ("run:0:1", "run:0:8", "run:1:1"));
    let told = serde_json::to_string(&result.events).unwrap();
    assert!(!told.contains("toolu_1") && !told.contains("iii") && !told.contains("😀"), "{told}");
}

// L-01, L-02
/// P-27.
#[tokio::test]
async fn names_of_ten_kilobytes_are_answered_and_capped_where_they_are_told() {
    let huge = "x\u{1b}".repeat(5 << 10);
    let model = script([
        call_reply([("c1", huge.as_str(), "{}"), ("c2", "add", r#"{"a": 1, "b": 2}"#)]),
        text_reply("done"),
    ]);
    let result = harness(model, [add()]).run(request("go")).await.unwrap();
    assert_eq!((result.outcome(), results(&result)[1].as_str()), ("completed", r#"{"sum":3}"#));
    assert!(results(&result)[0].starts_with("error: unknown_tool\n") && results(&result)[0].len() < 4_000);
    let told: Vec<_> = names(&result).into_iter().filter(|name| name.starts_with("tool_")).collect();
    assert!(told.iter().all(|name| name.len() < 4_000 && !name.contains('\u{1b}')), "{told:?}");
}

/// `big(chars)`: that many characters.
fn big() -> Offer {
    let schema = json!({"type": "object", "properties": {"chars": {"type": "integer"}}});
    let tool =
        HostTool::define("big", "").unwrap().pure().input_schema(schema).handler(|arguments| async move {
            "x".repeat(usize::try_from(arguments["chars"].as_u64().unwrap_or(20_000)).unwrap())
        });
    Offer::new(tool, "line")
}

async fn one_call(id: &str, name: &str, arguments: &str) -> RunResult {
    let model = script([call_reply([(id, name, arguments)]), text_reply("done")]);
    harness(model, [add(), big()]).run(request("go")).await.unwrap()
}

#[tokio::test]
async fn ids_of_any_length_name_their_calls_also_when_results_are_kept() {
    for id in ["x".repeat(300), "é\u{202e}/../../etc".to_owned(), "y".repeat(10 << 10)] {
        let result = one_call(&id, "big", "{}").await.into_result().unwrap();
        let Some(Message::Tool { call_id, .. }) = result.transcript.get(2).as_deref().cloned() else {
            panic!("no result")
        };
        assert_eq!(call_id, id);
        assert!(results(&result)[0].contains("read_tool_result"), "it was kept");
        assert_eq!(result.calls[0].call.as_str(), "run:0:1", "the host has an id of its own");
        assert_eq!(result.calls[0].warning, None);
    }
}

#[tokio::test]
async fn names_that_look_alike_or_steer_a_terminal_are_unknown_and_shown_as_text() {
    let ran = Counter::default();
    for name in ["аdd", "add\u{202e}", "touch\u{0}", "\u{1b}[2Jtouch", "", " ", &"touch".repeat(100)] {
        let model = script([call_reply([("c1", name, "{}")]), text_reply("done")]);
        let result = harness(model, [add(), touch(&ran)]).run(request("go")).await.unwrap();
        assert_eq!(result.calls[0].report.as_ref().unwrap().outcome, Outcome::UnknownTool, "{name:?}");
        let events = serde_json::to_string(&result.events).unwrap();
        assert!(!events.contains("\\u001b") && events.len() < 8_000, "{events}");
    }
    assert_eq!(ran.get(), 0);
}

/// A reply of ten thousand calls is refused whole, and each call has its answer.
#[tokio::test]
async fn ten_thousand_calls_in_one_reply_run_nothing_and_are_all_answered() {
    let ran = Counter::default();
    let ids: Vec<String> = (0..10_000).map(|n| format!("c{n}")).collect();
    let flood = call_reply(ids.iter().map(|id| (id.as_str(), "touch", "{}")));
    let model = script([flood, text_reply("done")]);
    let result = harness(model, [touch(&ran)]).run(request("go")).await.unwrap();
    assert_eq!((ran.get(), results(&result).len(), result.tool_calls), (0, 10_000, 0));
    assert!(result.ok());
}

#[tokio::test]
async fn a_reply_that_is_larger_than_any_may_be_fails_the_run_and_is_not_kept() {
    let arguments = format!(r#"{{"a": "{}"}}"#, "x".repeat(20 << 20));
    let model = script([call_reply([("c1", "add", arguments.as_str())])]);
    let result = harness(model, [add()]).run(request("go")).await.unwrap();
    assert_eq!(result.error.as_ref().unwrap().kind, ErrorKind::MalformedReply);
    assert_eq!(result.transcript.len(), 1);
}

/// A model that goes back and forth between two failing calls is told, and stopped when the limits say so.
#[tokio::test]
async fn a_model_that_goes_back_and_forth_ends_at_its_turns_at_the_latest() {
    let turn = |n: usize| call_reply([("c1", if n.is_multiple_of(2) { "nope" } else { "never" }, "{}")]);
    let limits = Limits { max_turns: std::num::NonZeroU32::new(20), ..Limits::default() };
    let model = script((0..20).map(turn).chain([text_reply("I give up")]));
    let result = harness(model, [add()]).run(request("go").limits(limits)).await.unwrap();
    assert_eq!((result.outcome(), result.turns), ("limited", 21));
    assert!(results(&result).iter().any(|text| text.starts_with("note: the last 2 calls")), "it is told");
}

/// A handle of one run names nothing in another one.
#[tokio::test]
async fn a_kept_result_of_one_run_cannot_be_read_by_another() {
    let first = one_call("c1", "big", r#"{"chars": 50000}"#).await;
    let note = results(&first).remove(0);
    assert!(note.contains(r#"read_tool_result {"result_id":"r1""#), "{note}");
    let read = r#"{"result_id": "r1"}"#;
    let model = script([call_reply([("c1", "read_tool_result", read)]), text_reply("done")]);
    let store: Arc<dyn ResultStore> = Arc::new(MemoryResults::default());
    let second = harness(model, [add(), big()]).run(request("go").results(store)).await.unwrap();
    let report = second.calls[0].report.clone().unwrap();
    assert!(!report.outcome.is_ok(), "{report:?}");
    assert!(!results(&second)[0].contains("xxxx"));
}

//! Ids and names as models should not write them, through whole runs.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use hotcell_core::limits::Limits;
use hotcell_core::message::Message;
use hotcell_core::outcome::Outcome;

use super::support::{add, harness, names, request, results, script};
use crate::harness::RunResult;
use crate::host_tool::HostTool;
use crate::scripted_model::{call_reply, text_reply};
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

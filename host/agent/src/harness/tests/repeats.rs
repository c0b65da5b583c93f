//! Calls that repeat earlier ones of the run.

use std::num::NonZeroU32;
use std::sync::Arc;

use hotcell_core::approval::Decision;
use hotcell_core::ids::CallId;
use hotcell_core::limits::Limits;
use hotcell_core::message::Message;
use hotcell_core::outcome::Outcome;
use hotcell_core::tool::Hints;
use serde_json::{Value, json};

use super::support::{Counter, harness, names, request, results, script, touch};
use crate::LeaveForLater;
use crate::harness::{ResumeRequest, RunResult};
use crate::host_tool::{HostTool, HostToolBuilder};
use crate::scripted_model::{call_reply, text_reply};
use crate::tool_set::Offer;

const PURE: Hints =
    Hints { read_only: Some(true), idempotent: Some(true), destructive: None, open_world: None };

fn dedupes() -> Limits {
    Limits { dedupe_calls: true, loop_guard: None, ..Limits::default() }
}

fn define(hints: Hints) -> HostToolBuilder {
    let schema = json!({"type": "object", "properties": {"a": {}, "b": {}}});
    HostTool::define("count", "Counts its calls.").unwrap().input_schema(schema).hints(hints)
}

/// Answers with how often it was called; `{"a": "fail"}` fails.
fn counting(tool: HostToolBuilder, ran: &Counter) -> Offer {
    let ran = ran.clone();
    let tool = tool.handler(move |arguments: Value| {
        ran.add();
        let answer = if arguments["a"] == "fail" { Err("no") } else { Ok(ran.get().to_string()) };
        async { answer }
    });
    Offer::new(tool, "line").with_permission(hotcell_core::policy::Permission::Allow)
}

/// One call for each of these arguments: the first two in one reply, each other one in its own.
async fn run(offer: Offer, limits: Limits, arguments: &[&str]) -> RunResult {
    let ids: Vec<String> = (0..arguments.len()).map(|n| format!("c{n}")).collect();
    let calls: Vec<_> =
        ids.iter().zip(arguments).map(|(id, arguments)| (id.as_str(), "count", *arguments)).collect();
    let (together, alone) = calls.split_at(2);
    let replies = std::iter::once(call_reply(together.to_vec()))
        .chain(alone.iter().map(|call| call_reply([*call])))
        .chain([text_reply("done")]);
    harness(script(replies), [offer]).run(request("go").limits(limits)).await.unwrap()
}

/// H-23.
///
/// Equal calls of a tool that is declared pure run once; each is answered under its own id, says that it
/// was not run, uses nothing, and counts.
#[tokio::test]
async fn a_call_that_repeats_an_earlier_one_is_answered_with_its_result() {
    let ran = Counter::default();
    let same = [r#"{"a": 1, "b": [2]}"#, r#"{"b":[2.0],"a":1}"#, r#"{"a": 1, "b": [2]}"#, r#"{"a": 2}"#];
    let result = run(counting(define(PURE).pure(), &ran), dedupes(), &same).await;
    assert_eq!((result.outcome(), ran.get(), result.tool_calls), ("completed", 2, 4));
    assert_eq!(results(&result), ["1", "1", "1", "2"]);
    let ids: Vec<_> = result
        .transcript
        .messages()
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::Tool { call_id, .. } => Some(call_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["c0", "c1", "c2", "c3"]);
    let told: Vec<_> = names(&result).into_iter().filter(|name| name.starts_with("tool_")).collect();
    assert_eq!(
        told,
        [
            "tool_started run:0:1 count",
            "tool_finished run:0:1 count success",
            "tool_finished run:0:2 count cached",
            "tool_finished run:1:1 count cached",
            "tool_started run:2:1 count",
            "tool_finished run:2:1 count success",
        ]
    );
    let of = |n: usize| (result.calls[n].cached, result.calls[n].report.as_ref().unwrap().usage.bytes_out);
    assert_eq!((of(0), of(1), of(2), of(3)), ((false, 1), (true, 0), (true, 0), (false, 1)));
}

/// H-23.
#[tokio::test]
async fn a_tool_that_counts_is_called_each_time_unless_it_is_declared_pure() {
    let open = Hints { open_world: Some(true), ..PURE };
    let writes = Hints { read_only: Some(false), ..PURE };
    let reads = Hints { read_only: Some(true), ..Hints::default() };
    for (case, tool, limits) in [
        ("off", define(PURE).pure(), Limits::default()),
        ("off in strict", define(PURE).pure(), Limits::strict()),
        ("reaches outside", define(PURE), dedupes()),
        ("says nothing", define(Hints::default()).pure(), dedupes()),
        ("only reads", define(reads).pure(), dedupes()),
        ("writes", define(writes).pure(), dedupes()),
        ("open world", define(open).pure(), dedupes()),
    ] {
        let ran = Counter::default();
        let result = run(counting(tool, &ran), limits, &["{}", "{}"]).await;
        assert_eq!((ran.get(), results(&result)), (2, vec!["1".to_owned(), "2".to_owned()]), "{case}");
    }
}

/// H-23.
#[tokio::test]
async fn failures_are_not_repeated_and_another_run_begins_afresh() {
    let ran = Counter::default();
    let fails = r#"{"a": "fail"}"#;
    let offer = counting(define(PURE).pure(), &ran);
    let result = run(offer.clone(), dedupes(), &[fails, fails]).await;
    assert_eq!((ran.get(), result.calls[1].cached), (2, false));
    run(offer.clone(), dedupes(), &["{}", "{}"]).await;
    run(offer, dedupes(), &["{}", "{}"]).await;
    assert_eq!(ran.get(), 4);
}

/// H-23.
#[tokio::test]
async fn a_call_that_repeats_another_counts_against_the_budget_and_is_checked_like_any_other() {
    let ran = Counter::default();
    let limits = Limits { max_tool_calls: NonZeroU32::new(2), ..dedupes() };
    let result = run(counting(define(PURE).pure(), &ran), limits, &["{}", "{}", "{}"]).await;
    assert_eq!((result.outcome(), result.tool_calls, ran.get()), ("max_tool_calls", 2, 1));
    let result = run(counting(define(PURE).pure(), &ran), dedupes(), &["{}", "[]"]).await;
    assert_eq!(result.calls[1].report.as_ref().unwrap().outcome, Outcome::InvalidArgs);
}

/// H-23.
///
/// First results are no part of a run's state: one that stood still calls the tool again.
#[tokio::test]
async fn a_run_that_stood_still_begins_without_earlier_results() {
    let (ran, touched) = (Counter::default(), Counter::default());
    let model = script([
        call_reply([("c1", "count", "{}")]),
        call_reply([("c2", "touch", "{}")]),
        call_reply([("c3", "count", "{}")]),
        text_reply("done"),
    ]);
    let harness = harness(model, [counting(define(PURE).pure(), &ran), touch(&touched)]);
    let asks = request("go").limits(dedupes()).approver(Arc::new(LeaveForLater));
    let first = harness.run(asks).await.unwrap();
    let go_on = ResumeRequest::new(*first.suspended.unwrap())
        .decide(CallId::parse("run:1:1").unwrap(), Decision::Approve);
    let result = harness.resume(go_on).await.unwrap();
    assert_eq!((result.outcome(), ran.get(), touched.get()), ("completed", 2, 1));
}

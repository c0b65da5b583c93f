//! What is told of a run.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::limits::Limits;
use hotcell_core::services::Progress;

use super::support::{Approves, Counter, Sink, add, harness, names, nap, request, script, touch};
use crate::harness::RunResult;
use crate::host_tool::HostTool;
use crate::scripted_model::{call_reply, text_reply};
use crate::tool_set::Offer;

/// P-50, P-53.
#[tokio::test]
async fn a_run_with_one_tool_tells_exactly_these_events() {
    let model = script([call_reply([("c1", "add", r#"{"a": 2, "b": 3}"#)]), text_reply("5")]);
    let sink = Arc::new(Sink::default());
    let result = harness(model, [add()]).run(request("add").sink(Arc::clone(&sink) as _)).await.unwrap();
    assert_eq!(
        names(&result),
        [
            "run_started",
            "model_started",
            "model_finished success",
            "tool_started run:0:1 add",
            "tool_finished run:0:1 add success",
            "model_started",
            "model_finished success",
            "run_finished completed",
        ]
    );
    assert_eq!(*sink.events.lock().unwrap(), result.events);
    let sequence: Vec<_> = result.events.iter().map(|event| event.meta.sequence).collect();
    assert_eq!(sequence, (0..8).collect::<Vec<_>>());
    let turns: Vec<_> = result.events.iter().map(|event| event.meta.turn).collect();
    assert_eq!(turns, [0, 0, 0, 0, 0, 1, 1, 1]);
}

/// P-13, P-51.
#[tokio::test(start_paused = true)]
async fn every_call_ends_with_one_event_that_says_how() {
    let calls = [
        ("c1", "add", r#"{"a": 2, "b": 3}"#),
        ("c2", "add", r#"{"a": "x"}"#),
        ("c3", "touch", "{}"),
        ("c4", "nope", "{}"),
        ("c5", "nap", "{}"),
        ("c6", "add", "{}"),
    ];
    let ran = Counter::default();
    let limits = Limits { max_time: Some(Duration::from_millis(500)), ..Limits::default() };
    let harness = harness(script([call_reply(calls)]), [add(), touch(&ran), nap(&ran)]);
    let result = harness.run(request("go").limits(limits)).await.unwrap();
    let tools: Vec<_> = names(&result).into_iter().filter(|name| name.starts_with("tool_")).collect();
    assert_eq!(
        tools,
        [
            "tool_started run:0:1 add",
            "tool_finished run:0:1 add success",
            "tool_started run:0:2 add",
            "tool_finished run:0:2 add error",
            "tool_finished run:0:3 touch denied",
            "tool_finished run:0:4 nope error",
            "tool_started run:0:5 nap",
            "tool_finished run:0:5 nap timed_out",
            "tool_finished run:0:6 add skipped",
        ]
    );
    assert_eq!((result.outcome(), ran.get(), result.tool_calls), ("timeout", 0, 5));
    assert_eq!(result.calls.len(), 6, "one record for each call");
}

/// P-52.
#[tokio::test]
async fn events_hold_no_prompt_no_argument_and_no_output() {
    let secret = "s3cret-";
    let tool = HostTool::define("leak", "").unwrap().handler_with_context(|context, _| async move {
        context.progress.progress(Progress { done: 1, total: None, note: Some("s3cret-note".into()) });
        tokio::task::yield_now().await;
        Err::<String, _>("s3cret-output")
    });
    let ran = HostTool::define("other", "").unwrap().pure().handler(|_| async { "s3cret-output" });
    let offers = [Offer::new(tool, "s3cret-line"), Offer::new(ran, "line")];
    let model = script([
        call_reply([("s3cret-id", "leak", "{}"), ("b", "other", r#"{"x":"s3cret-argument"}"#)]),
        text_reply("s3cret-answer"),
    ]);
    let approver = Approves(Duration::ZERO, Ok(hotcell_core::approval::Decision::Approve));
    let result =
        harness(model, offers).run(request("s3cret-prompt").approver(Arc::new(approver))).await.unwrap();
    assert!(serde_json::to_string(&result.transcript).unwrap().contains(secret));
    let events = serde_json::to_string(&result.events).unwrap();
    assert!(events.contains("approval_required") && !events.contains(secret), "{events}");
}

/// P-54, P-66.
#[tokio::test]
async fn a_result_round_trips_through_json() {
    let model = script([call_reply([("c1", "add", r#"{"a": 2, "b": 3}"#)]), text_reply("5")]);
    let mut result = harness(model, [add()]).run(request("add")).await.unwrap();
    let json = serde_json::to_value(&result).unwrap();
    let mut keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "calls",
            "data",
            "elapsed_ms",
            "error",
            "events",
            "output",
            "run",
            "status",
            "stop",
            "tokens",
            "tool_calls",
            "transcript",
            "turns"
        ]
    );
    // Times are whole milliseconds in JSON.
    let whole = |time: &mut Duration| *time = Duration::from_millis(u64::try_from(time.as_millis()).unwrap());
    whole(&mut result.elapsed);
    result.events.iter_mut().for_each(|event| whole(&mut event.meta.elapsed));
    assert_eq!(serde_json::from_value::<RunResult>(json).unwrap(), result);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_reports_progress_without_end_makes_few_events() {
    let tool = HostTool::define("chatty", "").unwrap().pure().handler_with_context(|context, _| async move {
        for done in 0..10_000 {
            context.progress.progress(Progress { done, total: Some(10_000), note: None });
            if done % 100 == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        "done"
    });
    let model = script([call_reply([("c1", "chatty", "{}")]), text_reply("ok")]);
    let result = harness(model, [Offer::new(tool, "line")]).run(request("go")).await.unwrap();
    let progress = names(&result).iter().filter(|name| *name == "tool_progress run:0:1").count();
    // Half a second of work, looked at every tenth of a second.
    assert!((4..=7).contains(&progress), "{progress}");
}

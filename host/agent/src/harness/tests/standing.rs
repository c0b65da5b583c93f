//! Runs that stand still until somebody decides, and go on in this process or another one.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::approval::Decision;
use hotcell_core::ids::CallId;
use hotcell_core::limits::Limits;
use hotcell_core::outcome::Outcome;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::support::{Approves, Counter, add, harness, names, request, results, script, touch};
use crate::LeaveForLater;
use crate::harness::{Harness, ResumeError, ResumeRequest, RunError, RunResult, SuspendedRun};
use crate::host_tool::HostTool;
use crate::machine::EntryStatus;
use crate::scripted_model::{ScriptedModel, call_reply, text_reply};
use crate::status::{RunStatus, StopReason};
use crate::tool_set::Offer;

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

/// A run of `touch` and `add` in one batch, that waits for a decision about `touch`.
async fn waiting(ran: &Counter) -> (Harness, Arc<ScriptedModel>, RunResult) {
    let model = script([
        call_reply([("c1", "touch", "{}"), ("c2", "add", r#"{"a": 1, "b": 2}"#)]),
        text_reply("done"),
    ]);
    let harness = harness(Arc::clone(&model) as _, [touch(ran), add()]);
    let result = harness.run(request("go").approver(Arc::new(LeaveForLater))).await.unwrap();
    (harness, model, result)
}

/// The run as another process reads it.
fn through_json(result: &RunResult) -> SuspendedRun {
    serde_json::from_str(&serde_json::to_string(result.suspended.as_ref().unwrap()).unwrap()).unwrap()
}

/// H-40, H-43.
#[tokio::test]
async fn a_run_that_waits_says_for_what_and_has_an_error_of_its_own() {
    let ran = Counter::default();
    let (_harness, _model, result) = waiting(&ran).await;
    assert_eq!((result.outcome(), result.status), ("awaiting_input", RunStatus::AwaitingInput));
    assert_eq!((&result.stop, result.needs_input(), result.ok()), (&StopReason::Approval, true, false));
    let pending = &result.pending[0];
    assert_eq!((pending.call.as_str(), pending.request.tool.as_str()), ("run:0:1", "touch"));
    assert_eq!((pending.idempotency_key.as_str(), &pending.request.arguments), ("run:0:c1", &json!({})));
    assert_eq!((result.pending.len(), ran.get()), (1, 0));
    assert_eq!(names(&result).last().unwrap(), "run_suspended awaiting_input");
    assert!(matches!(result.into_result(), Err(RunError::AwaitingInput(_))));
}

/// H-70.
#[tokio::test]
async fn a_run_goes_on_from_its_state_after_an_approval() {
    let ran = Counter::default();
    let (harness, model, first) = waiting(&ran).await;
    let resumed = ResumeRequest::new(through_json(&first)).decide(call("run:0:1"), Decision::Approve);
    let result = harness.resume(resumed).await.unwrap();
    assert_eq!((result.outcome(), ran.get(), model.replies_left()), ("completed", 1, 0));
    assert_eq!(results(&result), ["touched", r#"{"sum":3}"#]);
    assert_eq!((result.calls.len(), result.tool_calls, result.pending.len()), (2, 2, 0));
    // One order of events over both parts, and one terminal event.
    let sequence: Vec<_> =
        first.events.iter().chain(&result.events).map(|event| event.meta.sequence).collect();
    assert_eq!(sequence, (0..u64::try_from(sequence.len()).unwrap()).collect::<Vec<_>>());
    assert_eq!(names(&result).first().unwrap(), "run_resumed");
    assert_eq!(names(&result).iter().filter(|name| name.starts_with("run_finished")).count(), 1);
}

#[tokio::test]
async fn a_run_goes_on_after_a_denial_and_the_model_is_told() {
    let ran = Counter::default();
    let (harness, _model, first) = waiting(&ran).await;
    let deny = Decision::Deny("not today".into());
    let result =
        harness.resume(ResumeRequest::new(through_json(&first)).decide(call("run:0:1"), deny)).await.unwrap();
    assert_eq!((result.outcome(), ran.get()), ("completed", 0));
    assert!(results(&result)[0].contains("not today"));
}

#[tokio::test]
async fn a_run_without_a_decision_goes_on_waiting_and_can_be_asked_again() {
    let ran = Counter::default();
    let (harness, _model, first) = waiting(&ran).await;
    let again = harness.resume(ResumeRequest::new(through_json(&first))).await.unwrap();
    assert_eq!((again.outcome(), again.pending.len(), ran.get()), ("awaiting_input", 1, 0));
    let approver = Arc::new(Approves(Duration::ZERO, Ok(Decision::Approve)));
    let resumed = ResumeRequest::new(through_json(&again)).approver(approver);
    let result = harness.resume(resumed).await.unwrap();
    assert_eq!((result.outcome(), ran.get()), ("completed", 1));
}

#[tokio::test]
async fn decisions_about_other_calls_and_runs_that_have_ended_are_refused() {
    let ran = Counter::default();
    let (harness, _model, first) = waiting(&ran).await;
    let resumed = ResumeRequest::new(through_json(&first)).decide(call("run:0:2"), Decision::Approve);
    let error = harness.resume(resumed).await.unwrap_err();
    assert!(matches!(error, ResumeError::NotPending { .. }));
    assert!(error.to_string().contains("`run:0:2`") && error.to_string().contains("run:0:1"), "{error}");
    assert_eq!(ran.get(), 0);
}

/// H-70.
#[tokio::test]
async fn a_run_goes_on_with_the_arguments_an_approver_wrote_and_the_model_is_told() {
    let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    let send = HostTool::define("send", "").unwrap().input_schema(schema).handler(|arguments| async move {
        format!("sent to {}", arguments["to"].as_str().unwrap_or_default())
    });
    let offers = [Offer::new(send, "line")];
    let replies = || script([call_reply([("c1", "send", r#"{"to": "everybody"}"#)]), text_reply("done")]);
    let harness = harness(replies(), offers.clone());
    let edit = |arguments| Arc::new(Approves(Duration::ZERO, Ok(Decision::Edit(arguments))));
    let result = harness.run(request("go").approver(edit(json!({"to": "me"})))).await.unwrap();
    let text = |result: &RunResult| serde_json::to_string(&result.transcript).unwrap();
    assert!(text(&result).contains("sent to me") && !text(&result).contains("sent to everybody"));
    assert!(results(&result)[0].contains(r#"an approver changed the arguments of this call to {"to":"me"}"#));
    // What an approver writes is checked like what a model writes.
    let harness = super::support::harness(replies(), offers);
    let result = harness.run(request("go").approver(edit(json!({"to": 7})))).await.unwrap();
    assert_eq!(result.calls[0].report.as_ref().unwrap().outcome, Outcome::InvalidArgs);
    assert!(!text(&result).contains("sent to"));
}

/// H-70.
///
/// What changed between the question and the answer makes the approval void.
#[tokio::test]
async fn an_approval_does_not_hold_for_a_tool_that_was_changed_meanwhile() {
    let ran = Counter::default();
    let (_harness, _model, first) = waiting(&ran).await;
    let other = HostTool::define("touch", "Touches something else.").unwrap().handler({
        let ran = ran.clone();
        move |_| {
            ran.add();
            async { "touched" }
        }
    });
    let model = script([text_reply("done")]);
    let changed = harness(model, [Offer::new(other, "line"), add()]);
    let resumed = ResumeRequest::new(through_json(&first)).decide(call("run:0:1"), Decision::Approve);
    let result = changed.resume(resumed).await.unwrap();
    assert_eq!((result.outcome(), ran.get()), ("completed", 0));
    assert_eq!(result.calls[0].report.as_ref().unwrap().outcome, Outcome::Denied);
}

#[tokio::test]
async fn an_approval_is_used_once() {
    let ran = Counter::default();
    let model = script([
        call_reply([("c1", "touch", "{}")]),
        call_reply([("c1", "touch", "{}")]),
        text_reply("done"),
    ]);
    let harness = harness(model, [touch(&ran)]);
    let first = harness.run(request("go").approver(Arc::new(LeaveForLater))).await.unwrap();
    let approve =
        |result: &RunResult, id| ResumeRequest::new(through_json(result)).decide(call(id), Decision::Approve);
    let second = harness.resume(approve(&first, "run:0:1").approver(Arc::new(LeaveForLater))).await.unwrap();
    assert_eq!((second.outcome(), ran.get()), ("awaiting_input", 1), "the same call asks again");
    assert_eq!(second.pending[0].call.as_str(), "run:1:1");
    let result = harness.resume(approve(&second, "run:1:1")).await.unwrap();
    assert_eq!((result.outcome(), ran.get()), ("completed", 2));
}

/// The time a run stands still does not count; the time before it does.
#[tokio::test(start_paused = true)]
async fn the_time_a_run_stands_still_does_not_count() {
    let ran = Counter::default();
    let model = script([call_reply([("c1", "touch", "{}")]), text_reply("done")]);
    let harness = harness(model, [touch(&ran)]);
    let limits = Limits { max_time: Some(Duration::from_secs(10)), ..Limits::default() };
    let slow = Arc::new(Approves(Duration::from_secs(9), Ok(Decision::Suspend)));
    let first = harness.run(request("go").limits(limits).approver(slow)).await.unwrap();
    assert_eq!((first.outcome(), first.elapsed), ("awaiting_input", Duration::from_secs(9)));
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let approver = Arc::new(Approves(Duration::from_secs(3), Ok(Decision::Approve)));
    let resumed = ResumeRequest::new(through_json(&first)).approver(approver);
    let result = harness.resume(resumed).await.unwrap();
    assert_eq!((result.outcome(), result.elapsed, ran.get()), ("timeout", Duration::from_secs(10), 0));
    assert_eq!(result.calls[0].status, EntryStatus::Skipped);
}

#[tokio::test]
async fn a_run_that_waits_can_be_cancelled() {
    let ran = Counter::default();
    let (harness, _model, first) = waiting(&ran).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let resumed = ResumeRequest::new(through_json(&first)).cancel(cancel);
    let result = harness.resume(resumed).await.unwrap();
    assert_eq!((result.outcome(), results(&result).len(), ran.get()), ("cancelled", 2, 0));
}

#[tokio::test]
async fn a_run_can_be_told_to_stand_still_and_goes_on_later() {
    let ran = Counter::default();
    let pause = CancellationToken::new();
    let stops = pause.clone();
    let tool = HostTool::define("work", "").unwrap().pure().handler(move |_| {
        stops.cancel();
        async { "worked" }
    });
    let model = script([call_reply([("c1", "work", "{}"), ("c2", "touch", "{}")]), text_reply("done")]);
    let harness = harness(Arc::clone(&model) as _, [Offer::new(tool, "line"), touch(&ran)]);
    let approver = Arc::new(Approves(Duration::ZERO, Ok(Decision::Approve)));
    let first = harness.run(request("go").approver(Arc::clone(&approver) as _).pause(pause)).await.unwrap();
    assert_eq!(
        (first.outcome(), first.status, &first.stop),
        ("paused", RunStatus::Paused, &StopReason::Paused)
    );
    assert_eq!((first.pending.len(), ran.get(), results(&first)), (0, 0, vec!["worked".to_owned()]));
    assert!(matches!(first.clone().into_result(), Err(RunError::AwaitingInput(_))));
    let result = harness.resume(ResumeRequest::new(through_json(&first)).approver(approver)).await.unwrap();
    assert_eq!((result.outcome(), ran.get(), result.turns), ("completed", 1, 2));
}

//! What an approval of one call is worth, and when it is worth nothing.

use std::sync::Arc;

use hotcell_core::approval::Decision;
use hotcell_core::ids::CallId;
use hotcell_core::outcome::Outcome;
use serde_json::{Value, json};

use super::bound::{Bound, Decides};
use super::support::{Counter, harness, request, results, script};
use crate::harness::{ResumeRequest, RunResult, SuspendedRun};
use crate::scripted_model::{call_reply, text_reply};
use crate::tool_set::Offer;
use crate::{Harness, LeaveForLater};

fn writes(offer: Offer) -> Harness {
    let reply = call_reply([("c1", "write", r#"{"to": "a"}"#)]);
    harness(script([reply, text_reply("done")]), [offer])
}

/// A run that waits for a decision about `write`, as a store keeps it.
async fn stored(ran: &Counter) -> Value {
    let request = request("go").approver(Arc::new(LeaveForLater));
    let result = writes(Bound::new(ran).offer()).run(request).await.unwrap();
    serde_json::to_value(result.suspended.unwrap()).unwrap()
}

async fn approve(stored: Value, offer: Offer) -> RunResult {
    let run: SuspendedRun = serde_json::from_value(stored).unwrap();
    let request = ResumeRequest::new(run).decide(CallId::parse("run:0:1").unwrap(), Decision::Approve);
    harness(script([text_reply("done")]), [offer]).resume(request).await.unwrap()
}

fn outcome(result: &RunResult) -> Outcome {
    result.calls[0].report.as_ref().unwrap().outcome
}

/// H-70.
///
/// An approval binds component, definition, grants and arguments: with any of them changed between the
/// question and the answer the tool does not run.
#[tokio::test]
async fn an_approval_is_void_when_anything_it_is_bound_to_has_changed() {
    let ran = Counter::default();
    let waiting = stored(&ran).await;
    for (case, offer) in [
        ("component", Bound::new(&ran).component(b"other bytes").offer()),
        ("definition", Bound::new(&ran).described("Writes more.").offer()),
        ("grants", Bound::new(&ran).granted(b"other grants").offer()),
    ] {
        let result = approve(waiting.clone(), offer).await;
        assert_eq!(
            (outcome(&result), ran.get(), result.outcome()),
            (Outcome::Denied, 0, "completed"),
            "{case}"
        );
        assert!(results(&result)[0].contains("`write` did not run"), "{case}");
    }
    let mut others = waiting.clone();
    *others.pointer_mut("/machine/batch/0/call/arguments").unwrap() = json!(r#"{"to": "b"}"#);
    let result = approve(others, Bound::new(&ran).offer()).await;
    assert_eq!((outcome(&result), ran.get()), (Outcome::Denied, 0), "arguments");
    // As it was, it runs; another spelling of the same arguments is as it was.
    let mut spelled = waiting.clone();
    *spelled.pointer_mut("/machine/batch/0/call/arguments").unwrap() = json!(r#"{ "to" : "\u0061" }"#);
    for same in [waiting, spelled] {
        let result = approve(same, Bound::new(&ran).offer()).await;
        assert_eq!(outcome(&result), Outcome::Ok);
    }
    assert_eq!(ran.get(), 2);
}

/// H-70.
///
/// An approval is used once: the same call with the same arguments asks again, also within one batch.
#[tokio::test]
async fn an_approval_of_one_call_is_worth_nothing_for_the_next_like_it() {
    let ran = Counter::default();
    let twice = [("c1", "write", r#"{"to": "a"}"#), ("c2", "write", r#"{"to": "a"}"#)];
    let model = script([call_reply(twice), call_reply([twice[0]]), text_reply("done")]);
    let approver = Arc::new(Decides::new(Decision::Approve));
    let asks = request("go").approver(Arc::clone(&approver) as _);
    let result = harness(model, [Bound::new(&ran).offer()]).run(asks).await.unwrap();
    assert_eq!((result.outcome(), ran.get(), approver.asked()), ("completed", 3, 3));
}

/// H-70.
///
/// A decision that comes again after the call has ended is refused and runs nothing.
#[tokio::test]
async fn a_decision_about_a_call_that_has_ended_is_refused() {
    let ran = Counter::default();
    let twice = [("c1", "write", r#"{"to": "a"}"#), ("c2", "write", r#"{"to": "a"}"#)];
    let model = script([call_reply(twice), text_reply("done")]);
    let harness = harness(model, [Bound::new(&ran).offer()]);
    let later = || Arc::new(LeaveForLater);
    let first = harness.run(request("go").approver(later())).await.unwrap();
    let decide = |result: RunResult| {
        let run = *result.suspended.unwrap();
        ResumeRequest::new(run).decide(CallId::parse("run:0:1").unwrap(), Decision::Approve).approver(later())
    };
    let second = harness.resume(decide(first)).await.unwrap();
    assert_eq!((second.pending[0].call.as_str(), ran.get()), ("run:0:2", 1));
    let error = harness.resume(decide(second)).await.unwrap_err();
    assert!(error.to_string().starts_with("call `run:0:1` waits for no decision"), "{error}");
    assert_eq!(ran.get(), 1);
}

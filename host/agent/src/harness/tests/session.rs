//! What is approved for a whole session.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hotcell_core::approval::Decision;
use hotcell_core::ids::CallId;
use hotcell_core::outcome::Outcome;
use hotcell_core::policy::Permission;

use super::bound::{Bound, Decides};
use super::support::{Counter, harness, names, request, script, touch};
use crate::door::SessionGrants;
use crate::harness::{HarnessConfig, ResumeRequest, RunResult};
use crate::scripted_model::{call_reply, text_reply};
use crate::tool_set::Offer;
use crate::{Harness, LeaveForLater, ScriptedModel};

/// Two turns with a call of `write` each, with other arguments.
fn two_writes() -> Arc<ScriptedModel> {
    script([
        call_reply([("c1", "write", r#"{"to": "a"}"#)]),
        call_reply([("c1", "write", r#"{"to": "b"}"#)]),
        text_reply("done"),
    ])
}

fn writes(offer: Offer) -> Harness {
    harness(two_writes(), [offer])
}

fn outcomes(result: &RunResult) -> Vec<Outcome> {
    result.calls.iter().map(|call| call.report.as_ref().unwrap().outcome).collect()
}

/// H-70.
///
/// An approval for the session is asked for once, holds for other arguments too, and ends with
/// the session.
#[tokio::test]
async fn what_is_approved_for_the_session_is_not_asked_about_again() {
    let ran = Counter::default();
    let grants = SessionGrants::new();
    let approver = Arc::new(Decides::new(Decision::ApproveForSession));
    let ask = || request("go").approver(Arc::clone(&approver) as _).session_grants(grants.clone());
    let result = writes(Bound::new(&ran).offer()).run(ask()).await.unwrap();
    assert_eq!((result.outcome(), ran.get(), approver.asked(), grants.len()), ("completed", 2, 1, 1));
    let asked = names(&result).iter().filter(|name| name.starts_with("approval_required")).count();
    assert_eq!(asked, 1);
    // The same conversation: nobody is asked, not even there.
    let next = request("go").session_grants(grants.clone());
    let result = writes(Bound::new(&ran).offer()).run(next).await.unwrap();
    assert_eq!((outcomes(&result), ran.get()), (vec![Outcome::Ok, Outcome::Ok], 4));
    // Another conversation.
    let result = writes(Bound::new(&ran).offer()).run(request("go")).await.unwrap();
    assert_eq!((outcomes(&result), ran.get()), (vec![Outcome::Denied, Outcome::Denied], 4));
}

/// H-70.
///
/// An approval of one call is none for the session.
#[tokio::test]
async fn what_is_approved_once_is_asked_about_again() {
    let ran = Counter::default();
    let grants = SessionGrants::new();
    let approver = Arc::new(Decides::new(Decision::Approve));
    let ask = request("go").approver(Arc::clone(&approver) as _).session_grants(grants.clone());
    writes(Bound::new(&ran).offer()).run(ask).await.unwrap();
    assert_eq!((ran.get(), approver.asked(), grants.is_empty()), (2, 2, true));
}

/// H-70.
///
/// An approval for the session is void for another component, definition or set of grants.
#[tokio::test]
async fn what_is_approved_for_the_session_does_not_hold_for_a_tool_that_changed() {
    let ran = Counter::default();
    let grants = SessionGrants::new();
    let approver = Arc::new(Decides::new(Decision::ApproveForSession));
    let ask = request("go").approver(approver).session_grants(grants.clone());
    writes(Bound::new(&ran).offer()).run(ask).await.unwrap();
    for other in [
        Bound::new(&ran).component(b"other bytes"),
        Bound::new(&ran).described("Writes more."),
        Bound::new(&ran).granted(b"other grants"),
    ] {
        let result = writes(other.offer()).run(request("go").session_grants(grants.clone())).await.unwrap();
        assert_eq!((outcomes(&result), ran.get()), (vec![Outcome::Denied, Outcome::Denied], 2));
    }
}

/// H-70.
///
/// A policy that denies wins over everything that was approved before.
#[tokio::test]
async fn a_policy_that_denies_wins_over_what_was_approved_for_the_session() {
    let ran = Counter::default();
    let grants = SessionGrants::new();
    let approver = Arc::new(Decides::new(Decision::ApproveForSession));
    let ask = || request("go").approver(Arc::clone(&approver) as _).session_grants(grants.clone());
    writes(Bound::new(&ran).offer()).run(ask()).await.unwrap();
    let denied = Bound::new(&ran).offer().with_permission(Permission::Deny);
    let result = writes(denied).run(ask()).await.unwrap();
    assert_eq!((outcomes(&result), ran.get()), (vec![Outcome::Denied, Outcome::Denied], 2));
    assert_eq!((approver.asked(), grants.len()), (1, 1));
}

/// H-70.
///
/// A decision for the session about a run that stood still settles the calls like it, and is no
/// part of the run's state.
#[tokio::test]
async fn a_decision_for_the_session_settles_the_calls_like_it_that_wait() {
    let ran = Counter::default();
    let both = [("c1", "write", r#"{"to": "a"}"#), ("c2", "write", r#"{"to": "b"}"#)];
    let model = script([
        call_reply(both),
        call_reply([("c3", "touch", "{}")]),
        call_reply([("c4", "write", r#"{"to": "c"}"#)]),
    ]);
    let config =
        HarnessConfig { concurrent_calls: NonZeroUsize::new(4).unwrap(), ..HarnessConfig::default() };
    let touched = Counter::default();
    let harness = harness(model, [Bound::new(&ran).offer(), touch(&touched)]).with_config(config);
    let first = harness.run(request("go").approver(Arc::new(LeaveForLater))).await.unwrap();
    assert_eq!((first.pending.len(), ran.get()), (2, 0));
    let go_on = |result: RunResult, call: &str, decision| {
        ResumeRequest::new(*result.suspended.unwrap())
            .decide(CallId::parse(call).unwrap(), decision)
            .approver(Arc::new(LeaveForLater))
    };
    let grants = SessionGrants::new();
    let decided = go_on(first, "run:0:1", Decision::ApproveForSession).session_grants(grants.clone());
    let second = harness.resume(decided).await.unwrap();
    assert_eq!((ran.get(), grants.len(), second.pending.len()), (2, 1, 1));
    let third = harness.resume(go_on(second, "run:1:1", Decision::Approve)).await.unwrap();
    assert_eq!((ran.get(), touched.get(), third.pending.len()), (2, 1, 1), "a fresh session asks again");
}

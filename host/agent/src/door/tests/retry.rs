//! Calls that are tried again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hotcell_core::budget::{Budget, BudgetLimits};
use hotcell_core::call::CallReport;
use hotcell_core::ids::IdempotencyKey;
use hotcell_core::limits::CallLimits;
use hotcell_core::outcome::{Fault, Outcome};
use hotcell_core::replay::{Replay, ToolRetry};
use hotcell_core::tool::{Hints, ToolKind};
use tokio::time::Instant;

use super::support::{Counter, Probe, door, request};
use crate::answer::Answer;
use crate::door::{Asked, DoorRequest};
use crate::tool_set::Offer;

const SECOND: Duration = Duration::from_secs(1);

/// What a tool saw of each of its calls: when it was, the time it had, and the key.
type Seen = Arc<Mutex<Vec<(Instant, Duration, Option<String>)>>>;

/// A tool that fails like this so often, then works.
fn flaky(failure: CallReport, failures: usize, seen: &Seen) -> Offer {
    let seen = Arc::clone(seen);
    let probe = Probe::new(ToolKind::Component, true, move |context, _| {
        let mut seen = seen.lock().unwrap();
        let key = context.idempotency_key.map(|key| key.to_string());
        seen.push((Instant::now(), context.limits.timeout, key));
        let mut report = if seen.len() > failures { CallReport::text("worked") } else { failure.clone() };
        report.usage.fuel = 10;
        async { report }
    });
    Offer::new(
        probe.hints(Hints { read_only: Some(true), idempotent: Some(true), ..Hints::default() }),
        "line",
    )
}

fn busy() -> CallReport {
    CallReport::failure(Fault::Unavailable, "busy")
}

async fn call(offer: Offer, request: &DoorRequest) -> Answer {
    door([offer]).call(request, Asked::Operator).await.unwrap()
}

/// H-24, P-18.
///
/// A tool is called again only where the operator says that this is safe, and only after a failure that
/// may be gone by then; what its author claims does not count.
#[tokio::test(start_paused = true)]
async fn a_tool_is_tried_again_only_where_that_is_declared_safe_and_may_help() {
    use Replay::{Idempotent, Manual, Safe};
    let own = |fault| CallReport::failure(fault, "no");
    let other = |outcome| CallReport::new(outcome, "");
    for (replay, failure, calls) in [
        (Manual, busy(), 1),
        (Safe, busy(), 3),
        (Idempotent, busy(), 3),
        (Safe, own(Fault::RateLimited), 3),
        (Safe, own(Fault::Upstream), 3),
        (Safe, other(Outcome::Overloaded), 3),
        (Manual, other(Outcome::Overloaded), 1),
        (Safe, own(Fault::InvalidInput), 1),
        (Safe, own(Fault::NotFound), 1),
        (Safe, own(Fault::Denied), 1),
        (Safe, own(Fault::Unauthenticated), 1),
        (Safe, own(Fault::Conflict), 1),
        (Safe, own(Fault::Cancelled), 1),
        (Safe, own(Fault::Internal), 1),
        (Safe, other(Outcome::ToolError), 1),
        (Safe, other(Outcome::Trap), 1),
        (Safe, other(Outcome::Deadline), 1),
        (Safe, other(Outcome::Internal), 1),
    ] {
        let seen = Seen::default();
        let case = format!("{replay:?} {failure:?}");
        let mut request = request("probe", "{}");
        request.idempotency_key = Some(IdempotencyKey::parse("key").unwrap());
        let answer = call(flaky(failure.clone(), 2, &seen).with_replay(replay), &request).await;
        let outcome = if calls == 3 { Outcome::Ok } else { failure.outcome };
        assert_eq!((seen.lock().unwrap().len(), answer.report.outcome), (calls, outcome), "{case}");
        assert_eq!(answer.report.usage.retries + 1, u32::try_from(calls).unwrap(), "{case}");
    }
}

/// H-24.
///
/// Without a key a tool cannot tell a second try from a second call.
#[tokio::test(start_paused = true)]
async fn a_tool_that_goes_by_keys_is_not_tried_again_without_one() {
    let seen = Seen::default();
    let offer = flaky(busy(), 2, &seen).with_replay(Replay::Idempotent);
    let answer = call(offer, &request("probe", "{}")).await;
    assert_eq!((answer.report.outcome, seen.lock().unwrap().len()), (Outcome::ToolError, 1));
}

/// H-24.
///
/// Three tries, half a second and a second apart; every try has the key of the first, and the report
/// says what all of them used.
#[tokio::test(start_paused = true)]
async fn tries_wait_longer_each_time_and_are_one_call() {
    let seen = Seen::default();
    let mut request = request("probe", "{}");
    request.idempotency_key = Some(IdempotencyKey::parse("run:0:c1").unwrap());
    let answer = call(flaky(busy(), 9, &seen).with_replay(Replay::Safe), &request).await;
    assert_eq!(answer.report.outcome, Outcome::ToolError);
    assert!(answer.text.contains("busy"), "{}", answer.text);
    let seen = seen.lock().unwrap();
    let waits: Vec<_> = seen.windows(2).map(|two| two[1].0 - two[0].0).collect();
    assert_eq!(waits, [SECOND / 2, SECOND]);
    assert!(seen.iter().all(|(_, _, key)| key.as_deref() == Some("run:0:c1")));
    let usage = &answer.report.usage;
    assert_eq!((usage.fuel, usage.retries, usage.wall_us.total), (30, 2, 1_500_000));
    // Each try has what is left of the time of the call.
    let times: Vec<_> = seen.iter().map(|(_, time, _)| *time).collect();
    assert_eq!(times, [10 * SECOND, 10 * SECOND - SECOND / 2, 10 * SECOND - SECOND * 3 / 2]);
}

/// H-24.
#[tokio::test(start_paused = true)]
async fn a_tool_that_says_when_to_try_again_is_heeded_up_to_the_longest_wait() {
    for (asked, waited) in [(3_000, 3 * SECOND), (60_000, 5 * SECOND), (1, SECOND)] {
        let seen = Seen::default();
        let failure = busy().retry_after(Duration::from_millis(asked));
        let retry = ToolRetry::new(2, SECOND, 5 * SECOND).unwrap();
        let offer = flaky(failure, 1, &seen).with_replay(Replay::Safe).with_retry(retry);
        let answer = call(offer, &request("probe", "{}")).await;
        let seen = seen.lock().unwrap();
        assert_eq!((answer.report.outcome, seen[1].0 - seen[0].0), (Outcome::Ok, waited));
    }
}

/// H-24.
///
/// No try begins that could not end in time, neither by the call's own limit nor by the caller's; the
/// failure that is known is the answer, at once.
#[tokio::test(start_paused = true)]
async fn tries_end_with_the_time_of_the_call_and_of_its_caller() {
    let retry = ToolRetry::new(10, SECOND, 60 * SECOND).unwrap();
    for own in [true, false] {
        let seen = Seen::default();
        let mut offer = flaky(busy(), 99, &seen).with_replay(Replay::Safe).with_retry(retry);
        let mut request = request("probe", "{}");
        if own {
            offer = offer.with_limits(CallLimits { timeout: 4 * SECOND, ..CallLimits::default() });
        } else {
            let deadline = Some(Instant::now().into_std() + 4 * SECOND);
            request.budget = Budget::root(BudgetLimits { deadline, ..BudgetLimits::default() });
        }
        let began = Instant::now();
        let answer = call(offer, &request).await;
        assert_eq!((answer.report.outcome, seen.lock().unwrap().len()), (Outcome::ToolError, 3));
        assert_eq!(began.elapsed(), 3 * SECOND);
    }
    // A try that hangs ends with the time of the whole call.
    let calls = Counter::default();
    let counts = calls.clone();
    let tool = Probe::new(ToolKind::Host, true, move |_, _| {
        counts.add();
        let failed = if counts.get() == 1 { Some(busy()) } else { None };
        async {
            match failed {
                Some(report) => report,
                None => std::future::pending().await,
            }
        }
    });
    let limits = CallLimits { timeout: 4 * SECOND, ..CallLimits::default() };
    let offer = Offer::new(tool, "line").with_limits(limits).with_replay(Replay::Safe).with_retry(retry);
    let began = Instant::now();
    let answer = call(offer, &request("probe", "{}")).await;
    assert_eq!((answer.report.outcome, calls.get()), (Outcome::Deadline, 2));
    assert!(answer.report.message.contains("limit of 4.00 s"), "{}", answer.report.message);
    assert!(began.elapsed() < 5 * SECOND);
}

/// H-24.
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_not_tried_again() {
    let seen = Seen::default();
    let request = request("probe", "{}");
    let cancel = request.cancel.clone();
    let began = Instant::now();
    let (answer, ()) =
        tokio::join!(call(flaky(busy(), 9, &seen).with_replay(Replay::Safe), &request), async {
            tokio::time::sleep(SECOND / 5).await;
            cancel.cancel();
        });
    assert_eq!((answer.report.outcome, seen.lock().unwrap().len()), (Outcome::Cancelled, 1));
    assert_eq!(began.elapsed(), SECOND / 5);
}

/// H-24.
///
/// Each try takes a call from the caller's budget; when none is left, the failure stands.
#[tokio::test(start_paused = true)]
async fn every_try_takes_a_call_from_the_callers_budget() {
    let seen = Seen::default();
    let mut request = request("probe", "{}");
    request.budget = Budget::root(BudgetLimits { calls: Some(2), ..BudgetLimits::default() });
    let answer = call(flaky(busy(), 9, &seen).with_replay(Replay::Safe), &request).await;
    assert_eq!((answer.report.outcome, seen.lock().unwrap().len()), (Outcome::ToolError, 2));
    assert!(!request.budget.take_calls(1));
}

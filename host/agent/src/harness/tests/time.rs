//! Deadlines and cancellations that preempt whatever the run waits for.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hotcell_core::approval::Decision;
use hotcell_core::budget::{Budget, BudgetLimits};
use hotcell_core::event::{Hook, HookError, RunEvent};
use hotcell_core::limits::Limits;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::middleware::Layer;
use super::support::{Approves, Counter, Sink, Slow, add, harness, nap, request, results, script, touch};
use crate::harness::{Harness, RunRequest, RunResult};
use crate::scripted_model::{call_reply, text_reply};
use crate::status::RunStatus;

const THREE_SECONDS: Duration = Duration::from_secs(3);

/// A hook that is slow at one event.
struct SlowHook(u64);

impl Hook for SlowHook {
    fn name(&self) -> &str {
        "slow"
    }

    fn observe(&self, event: RunEvent) -> BoxFuture<'_, Result<(), HookError>> {
        let slow = event.meta.sequence == self.0;
        Box::pin(async move {
            if slow {
                tokio::time::sleep(THREE_SECONDS).await;
            }
            Ok(())
        })
    }
}

/// All a run can wait for, each slow: the model, a tool, an approver, a sink, a hook, a middleware at each
/// of its stages.
fn slow_runs(effect: &Counter) -> Vec<(&'static str, Harness, RunRequest)> {
    let slow_model = Slow(THREE_SECONDS, text_reply("late"));
    let calls_nap = || script([call_reply([("c1", "nap", "{}"), ("c2", "nap", "{}")]), text_reply("done")]);
    let calls_touch = || script([call_reply([("c1", "touch", "{}")]), text_reply("done")]);
    let approver = Arc::new(Approves(THREE_SECONDS, Ok(Decision::Approve)));
    let sink = |from| Arc::new(Sink { slow: Some((from, THREE_SECONDS)), ..Sink::default() });
    let offers = || [nap(effect), touch(effect)];
    let mut runs = vec![
        ("model", harness(Arc::new(slow_model), []), request("go")),
        ("tool", harness(calls_nap(), offers()), request("go")),
        ("approver", harness(calls_touch(), offers()), request("go").approver(approver)),
    ];
    // A sink that is slow at the start, in the middle, and when a tool is about to run.
    for from in [0, 2, 3] {
        runs.push(("sink", harness(calls_nap(), offers()), request("go").sink(sink(from))));
    }
    for sequence in [0, 3] {
        let harness = harness(calls_nap(), offers()).with_hook(Arc::new(SlowHook(sequence)));
        runs.push(("hook", harness, request("go")));
    }
    for stage in ["before_model", "after_model", "before_tool", "after_tool"] {
        let model = script([call_reply([("c1", "add", r#"{"a": 1, "b": 1}"#)]), text_reply("done")]);
        let harness = harness(model, [add()]).with_middleware(Arc::new(Layer::slow_at(stage)));
        runs.push((stage, harness, request("go")));
    }
    runs
}

/// P-44.
#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_run_in_time_whatever_it_waits_for() {
    let effect = Counter::default();
    for (what, harness, request) in slow_runs(&effect) {
        let limits = Limits { max_time: Some(Duration::from_millis(500)), ..Limits::default() };
        let began = Instant::now();
        let result = harness.run(request.limits(limits)).await.unwrap();
        let took = began.elapsed().as_millis();
        assert_eq!(result.outcome(), "timeout", "{what}");
        assert!((500..=600).contains(&took), "{what}: {took} ms");
        assert_eq!(result.status, RunStatus::Stopped);
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(effect.get(), 0, "nothing has an effect after the run");
}

/// P-35, P-43.
#[tokio::test(start_paused = true)]
async fn a_cancellation_ends_the_run_at_once_whatever_it_waits_for() {
    let effect = Counter::default();
    for (what, harness, request) in slow_runs(&effect) {
        let cancel = CancellationToken::new();
        let began = Instant::now();
        let (result, ()) = tokio::join!(harness.run(request.cancel(cancel.clone())), async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            cancel.cancel();
        });
        let result = result.unwrap();
        let took = began.elapsed().as_millis();
        assert_eq!(result.outcome(), "cancelled", "{what}");
        assert!((200..=300).contains(&took), "{what}: {took} ms");
        assert_eq!(
            result.events.last().map(|event| super::support::name(&event.kind)),
            Some("run_finished cancelled".into())
        );
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(effect.get(), 0, "nothing has an effect after the run");
}

/// P-35.
#[tokio::test(start_paused = true)]
async fn calls_after_a_cancelled_one_are_skipped_and_not_counted() {
    let effect = Counter::default();
    let cancel = CancellationToken::new();
    let model = script([call_reply([("c1", "nap", "{}"), ("c2", "nap", "{}")])]);
    let harness = harness(model, [nap(&effect)]);
    let (result, ()) = tokio::join!(harness.run(request("go").cancel(cancel.clone())), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    });
    let result = result.unwrap();
    let texts = results(&result);
    assert!(texts[0].starts_with("error: cancelled\n"), "{texts:?}");
    assert_eq!((texts[1].as_str(), result.tool_calls), ("not run: the run was cancelled", 1));
}

/// P-05.
#[tokio::test]
async fn a_run_that_is_cancelled_before_it_starts_never_asks_the_model() {
    let model = script([text_reply("never")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = harness(Arc::clone(&model) as _, [add()]).run(request("go").cancel(cancel)).await.unwrap();
    assert_eq!((result.outcome(), result.turns, model.requests().len()), ("cancelled", 0, 0));
    assert_eq!(result.output, None);
}

/// P-38.
#[tokio::test(start_paused = true)]
async fn without_a_deadline_a_slow_run_completes() {
    let model = Arc::new(Slow(Duration::from_secs(10), text_reply("done")));
    let result = harness(model, []).run(request("go")).await.unwrap();
    assert_eq!((result.outcome(), result.elapsed.as_secs()), ("completed", 10));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_caller_above_ends_the_run_as_well() {
    let deadline = Instant::now().into_std() + Duration::from_millis(300);
    let parent = Budget::root(BudgetLimits { deadline: Some(deadline), ..BudgetLimits::default() });
    let model = Arc::new(Slow(THREE_SECONDS, text_reply("late")));
    let run = RunRequest { budget: Some(parent), ..request("go") };
    let result: RunResult = harness(model, []).run(run).await.unwrap();
    assert_eq!((result.outcome(), result.elapsed.as_millis()), ("timeout", 300));
}

/// H-22.
#[tokio::test(start_paused = true)]
async fn a_tool_over_its_own_limit_is_an_error_result_and_the_run_goes_on() {
    let effect = Counter::default();
    let model = script([call_reply([("c1", "nap", r#"{"ms": 60000}"#)]), text_reply("done")]);
    let result = harness(model, [nap(&effect)]).run(request("go")).await.unwrap();
    assert_eq!((result.outcome(), result.elapsed.as_secs(), effect.get()), ("completed", 25, 0));
    assert!(results(&result)[0].starts_with("error: deadline\n"));
}

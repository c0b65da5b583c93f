//! What happens while a tool runs, and when it does not end.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use hotcell_core::budget::{Budget, BudgetLimits};
use hotcell_core::call::CallReport;
use hotcell_core::limits::{CallLimits, Limits};
use hotcell_core::outcome::Outcome;
use hotcell_core::tool::ToolKind;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::support::{Counter, OnDrop, Probe, Silent, door, door_with, report, request};
use crate::door::{Asked, Door};
use crate::host_tool::HostTool;
use crate::tool_set::Offer;

const HOUR: Duration = Duration::from_secs(3_600);

/// A tool that sleeps for an hour, then has an effect; it counts the effect and when it is gone.
fn sleeper(kind: ToolKind, effect: &Counter, gone: &Counter) -> Probe {
    let (effect, gone) = (effect.clone(), gone.clone());
    Probe::new(kind, false, move |_, _| {
        let (effect, on_drop) = (effect.clone(), OnDrop(gone.clone()));
        async move {
            tokio::time::sleep(HOUR).await;
            effect.add();
            drop(on_drop);
            CallReport::text("slept")
        }
    })
}

/// P-44, H-22.
#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_end_is_stopped_at_its_limit_and_gone_before_the_answer() {
    for (kind, limit, latest) in [(ToolKind::Host, 25_000, 25_020), (ToolKind::Component, 10_000, 10_070)] {
        let (effect, gone) = (Counter::default(), Counter::default());
        let door = door([Offer::new(sleeper(kind, &effect, &gone), "line")]);
        let began = Instant::now();
        let answer = door.call(&request("probe", "{}"), Asked::Nobody).await.unwrap();
        let took = began.elapsed().as_millis();
        assert_eq!((answer.report.outcome, gone.get()), (Outcome::Deadline, 1));
        assert!((limit..=latest).contains(&took), "{took}");
        assert!(answer.report.message.contains("was stopped") && !answer.report.message.contains("blocks"));
        tokio::time::sleep(HOUR * 2).await;
        assert_eq!(effect.get(), 0, "nothing it started has an effect later");
    }
}

#[tokio::test(start_paused = true)]
async fn the_earliest_deadline_counts_and_the_report_says_whose_it_was() {
    let sleeping = || sleeper(ToolKind::Host, &Counter::default(), &Counter::default());
    let limits = Limits { host_tool_timeout: Duration::from_secs(7), ..Limits::default() };
    let own = CallLimits { timeout: Duration::from_secs(3), ..CallLimits::default() };
    let budget = |seconds| {
        let deadline = Instant::now().into_std() + Duration::from_secs(seconds);
        Budget::root(BudgetLimits { deadline: Some(deadline), ..BudgetLimits::default() })
    };
    for (offer, seconds_left, expected, words) in [
        (Offer::new(sleeping(), ""), 100, 7, "longer than its limit of 7.00 s"),
        (Offer::new(sleeping(), "").with_limits(own.clone()), 100, 3, "longer than its limit of 3.00 s"),
        (Offer::new(sleeping().timeout_ms(2_000), ""), 100, 2, "longer than its limit of 2.00 s"),
        // The author's wish never raises the operator's limit.
        (Offer::new(sleeping().timeout_ms(90_000), "").with_limits(own), 100, 3, "its limit of 3.00 s"),
        (Offer::new(sleeping(), ""), 1, 1, "The caller's time was up"),
    ] {
        let mut request = request("probe", "{}");
        request.budget = budget(seconds_left);
        let began = Instant::now();
        let answer = door_with(limits.clone(), [offer]).call(&request, Asked::Nobody).await.unwrap();
        assert_eq!((answer.report.outcome, began.elapsed().as_secs()), (Outcome::Deadline, expected));
        assert!(answer.report.message.contains(words), "{}", answer.report.message);
    }
}

#[tokio::test(start_paused = true)]
async fn a_component_that_reports_its_own_end_in_time_is_believed() {
    let probe = Probe::new(ToolKind::Component, false, |context, _| async move {
        context.cancel.cancelled().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        let mut report = report(Outcome::Cancelled);
        report.usage.fuel = 77;
        report
    });
    let door = door([Offer::new(probe, "line")]);
    let request = request("probe", "{}");
    let cancel = request.cancel.clone();
    let (answer, ()) = tokio::join!(door.call(&request, Asked::Nobody), async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        cancel.cancel();
    });
    assert_eq!(answer.unwrap().report.usage.fuel, 77);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_at_once_and_has_no_later_effect() {
    let (effect, gone) = (Counter::default(), Counter::default());
    let door = door([Offer::new(sleeper(ToolKind::Host, &effect, &gone), "line")]);
    let request = request("probe", "{}");
    let cancel = request.cancel.clone();
    let began = Instant::now();
    let (answer, ()) = tokio::join!(door.call(&request, Asked::Nobody), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    });
    assert_eq!(answer.unwrap().report.outcome, Outcome::Cancelled);
    assert!(began.elapsed() <= Duration::from_millis(220));
    assert_eq!((gone.get(), effect.get()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_takes_its_tool_along() {
    let (effect, gone) = (Counter::default(), Counter::default());
    let door = door([Offer::new(sleeper(ToolKind::Host, &effect, &gone), "line")]);
    let request = request("probe", "{}");
    let call = tokio::time::timeout(Duration::from_secs(1), door.call(&request, Asked::Nobody));
    assert!(call.await.is_err());
    tokio::time::sleep(HOUR * 2).await;
    assert_eq!((gone.get(), effect.get()), (1, 0));
}

/// P-23.
#[tokio::test(start_paused = true)]
async fn an_approver_that_never_answers_is_ended_by_the_budget_or_a_cancellation() {
    let ran = Counter::default();
    let door = door([super::support::echo(&ran, true)]);
    let mut request = request("probe", "{}");
    let deadline = Instant::now().into_std() + Duration::from_millis(500);
    request.budget = Budget::root(BudgetLimits { deadline: Some(deadline), ..BudgetLimits::default() });
    let answer = door.call(&request, Asked::Approver(&Silent)).await.unwrap();
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::Deadline, 0));
    request.cancel.cancel();
    request.budget = Budget::root(BudgetLimits::default());
    let answer = door.call(&request, Asked::Approver(&Silent)).await.unwrap();
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::Cancelled, 0));
}

#[tokio::test]
async fn a_panic_of_a_host_tool_is_an_internal_error_and_the_door_goes_on() {
    let bad = HostTool::define("bad", "").unwrap().pure().handler(|_| async {
        if true {
            panic!("secret of the host");
        }
        ""
    });
    let blocking =
        HostTool::define("blocking", "").unwrap().pure().blocking(|_| -> &'static str { panic!("secret") });
    let eager = HostTool::define("eager", "")
        .unwrap()
        .pure()
        .handler(|_| -> std::future::Ready<&'static str> { panic!("secret of the host") });
    let good = HostTool::define("good", "").unwrap().pure().blocking(|_| "fine");
    let door = door([bad, blocking, eager, good].map(|tool| Offer::new(tool, "line")));
    for name in ["bad", "blocking", "eager"] {
        let answer = door.call(&request(name, "{}"), Asked::Nobody).await.unwrap();
        assert_eq!(answer.report.outcome, Outcome::Internal);
        assert!(!answer.text.contains("secret"), "{}", answer.text);
    }
    assert_eq!(door.call(&request("good", "{}"), Asked::Nobody).await.unwrap().text.as_ref(), "fine");
}

// A thread that blocks cannot be stopped, but nobody waits for it. This is the one test that needs a
// real clock: a paused one stands still while a blocking thread works.
#[tokio::test]
async fn a_host_tool_that_blocks_its_thread_does_not_hold_the_answer() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let tool = HostTool::define("stuck", "").unwrap().pure().blocking(move |_| {
        // Ends when the test drops the sender.
        assert!(wait.lock().unwrap().recv().is_err());
        "late"
    });
    let limits = CallLimits { timeout: Duration::from_millis(20), ..CallLimits::default() };
    let door = door([Offer::new(tool, "line").with_limits(limits)]);
    let answer = door.call(&request("stuck", "{}"), Asked::Nobody).await.unwrap();
    assert_eq!(answer.report.outcome, Outcome::Deadline);
    drop(release);
}

fn structured(value: Value) -> CallReport {
    CallReport { structured: Some(value), ..CallReport::text("text") }
}

// R-10
#[tokio::test]
async fn a_result_is_held_to_what_the_tool_promised() {
    let schema =
        json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}});
    let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
    for (result, message) in [
        (CallReport::text("text"), "The tool promises a structured result and returned none."),
        (
            structured(json!([])),
            "The result does not match the output schema: at the top level: [] is not of type \"object\".",
        ),
        (
            structured(json!({"rows": [1, "x"]})),
            "The result does not match the output schema: at `/rows/1`: \"x\" is not of type \"integer\".",
        ),
        (structured(deep), "The result is nested deeper than 64 levels."),
    ] {
        let probe = Probe::new(ToolKind::Component, false, move |_, _| std::future::ready(result.clone()));
        let door = door([Offer::new(probe.output_schema(schema.clone()), "line")]);
        let answer = door.call(&request("probe", "{}"), Asked::Nobody).await.unwrap();
        assert_eq!(
            (answer.report.outcome, answer.report.message.as_str()),
            (Outcome::InvalidResult, message)
        );
        assert!(answer.report.content.is_empty() && answer.report.structured.is_none());
    }
    let many: Value = (0..50).map(|_| json!("x")).collect();
    let probe = Probe::new(ToolKind::Component, false, move |_, _| {
        std::future::ready(structured(json!({"rows": many})))
    });
    let door = door([Offer::new(probe.output_schema(schema), "line")]);
    let answer = door.call(&request("probe", "{}"), Asked::Nobody).await.unwrap();
    assert_eq!(answer.report.message.matches("at `/rows/").count(), 5);
}

#[tokio::test]
async fn what_a_call_used_is_recorded_here_and_in_the_callers_budget() {
    let probe = Probe::new(ToolKind::Component, false, |_, _| async {
        let mut report = CallReport::text("12345");
        report.usage.fuel = 40;
        report
    });
    let door = door([Offer::new(probe, "line")]);
    let mut request = request("probe", r#"{"n": 1}"#);
    request.budget = Budget::root(BudgetLimits { fuel: Some(100), ..BudgetLimits::default() });
    let answer = door.call(&request, Asked::Nobody).await.unwrap();
    let usage = &answer.report.usage;
    assert_eq!((usage.bytes_in, usage.bytes_out, usage.fuel), (8, 5, 40));
    assert_eq!(request.budget.fuel_left(), Some(60));
}

#[tokio::test]
async fn the_door_may_be_entered_again_from_inside_of_a_call() {
    let slot: Arc<Mutex<Option<Door>>> = Arc::default();
    let inner_door = Arc::clone(&slot);
    let outer = HostTool::define("outer", "").unwrap().pure().handler_with_context(move |context, _| {
        let door = inner_door.lock().unwrap().clone().unwrap();
        async move {
            let mut request = request("inner", "{}");
            request.budget = context.budget.clone();
            let first = door.call(&request, Asked::Nobody).await.unwrap();
            let second = door.call(&request, Asked::Nobody).await.unwrap();
            format!("{} then {}", first.text, second.report.outcome)
        }
    });
    let inner = HostTool::define("inner", "").unwrap().pure().handler(|_| async { "inner ran" });
    let door = door([outer, inner].map(|tool| Offer::new(tool, "line")));
    *slot.lock().unwrap() = Some(door.clone());
    let mut request = request("outer", "{}");
    request.budget = Budget::root(BudgetLimits { calls: Some(2), ..BudgetLimits::default() });
    let answer = door.call(&request, Asked::Nobody).await.unwrap();
    assert_eq!(answer.text.as_ref(), "inner ran then quota", "nested calls count for the caller above");
}

/// P-26.
#[tokio::test]
async fn one_door_serves_many_calls_at_once() {
    let barrier = Arc::new(tokio::sync::Barrier::new(8));
    let probe = Probe::new(ToolKind::Host, false, move |_, arguments| {
        let barrier = Arc::clone(&barrier);
        async move {
            // Ends only if all eight calls are in the tool at one time.
            barrier.wait().await;
            CallReport::text(arguments.to_string())
        }
    });
    let door = door([Offer::new(probe, "line")]);
    let requests: Vec<_> = (0..8).map(|n| request("probe", &format!("{{\"n\":{n}}}"))).collect();
    let calls = requests.iter().map(|request| door.call(request, Asked::Nobody));
    for (n, answer) in futures::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(answer.unwrap().text.as_ref(), format!("{{\"n\":{n}}}"));
    }
}

//! Calls that are given up, sandboxes that are closed, and thousands of calls that wait.

use std::time::Duration;

use hotcell_core::outcome::Outcome;
use hotcell_sandbox::SandboxConfig;
use hotcell_tests::call::{Call, prepare, sandbox, sandbox_with};
use hotcell_tests::wat_tool::WatTool;
use hotcell_tests::{guest, health};

const LOOP: &str = "(loop (br 0)) (unreachable)";

#[tokio::test]
async fn dropping_the_call_stops_the_guest_and_returns_its_slot() {
    let sandbox = sandbox();
    let spin = prepare(&sandbox, &WatTool { call: LOOP, ..WatTool::default() }.build().unwrap());
    let sleep = prepare(&sandbox, &guest::bytes("misbehave"));
    for (prepared, tool) in [(&spin, "t"), (&sleep, "sleep")] {
        for wait in [0, 1, 3, 20] {
            let call =
                Call::new(prepared, tool, "{}").limits(|limits| limits.timeout = Duration::from_secs(600));
            let gave_up = tokio::time::timeout(Duration::from_millis(wait), call.run(prepared)).await;
            assert!(gave_up.is_err());
        }
    }
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn a_cancelled_call_says_what_it_used() {
    let sandbox = sandbox();
    let spin = prepare(&sandbox, &WatTool { call: LOOP, ..WatTool::default() }.build().unwrap());
    let call = Call::new(&spin, "t", "{}").limits(|limits| limits.timeout = Duration::MAX);
    let services = std::sync::Arc::new(hotcell_tests::services::Recorder::default());
    let cancel = tokio::time::sleep(Duration::from_millis(100));
    let report = spin.call_until(call.request, services, cancel).await;
    assert_eq!(report.outcome, Outcome::Cancelled, "{report:?}");
    assert!(report.usage.fuel > 100_000 && report.usage.wall_us.total >= 100_000, "{report:?}");
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn shutting_down_ends_every_call_and_every_thread() {
    let sandbox = sandbox();
    let spin = prepare(&sandbox, &WatTool { call: LOOP, ..WatTool::default() }.build().unwrap());
    let calls = futures::future::join_all((0..100).map(|_| {
        Call::new(&spin, "t", "{}").limits(|limits| limits.timeout = Duration::from_secs(600)).run(&spin)
    }));
    let shutdown = async {
        health::wait_for(&sandbox, "guests to run", |sandbox| sandbox.gauges().free_slots == 0).await;
        sandbox.shutdown().await;
    };
    let (reports, ()) = futures::future::join(calls, shutdown).await;
    for report in reports {
        assert_eq!(report.outcome, Outcome::Cancelled, "{report:?}");
    }
    let after = Call::new(&spin, "t", "{}").run(&spin).await;
    assert_eq!(after.outcome, Outcome::Cancelled, "{after:?}");
}

#[tokio::test]
async fn dropping_the_sandbox_inside_of_a_runtime_does_not_panic() {
    let spin = {
        let sandbox = sandbox();
        prepare(&sandbox, &WatTool { call: LOOP, ..WatTool::default() }.build().unwrap())
    };
    let call = Call::new(&spin, "t", "{}").limits(|limits| limits.timeout = Duration::from_millis(50));
    assert_eq!(call.run(&spin).await.outcome, Outcome::Deadline);
    drop(spin);
}

#[tokio::test]
async fn the_ticker_sleeps_when_no_guest_exists() {
    let sandbox = sandbox();
    health::check(&sandbox, 64).await;
    health::wait_for(&sandbox, "the ticker to sleep", |sandbox| sandbox.gauges().ticker_asleep).await;
    let spin = prepare(&sandbox, &WatTool { call: LOOP, ..WatTool::default() }.build().unwrap());
    let call = Call::new(&spin, "t", "{}").limits(|limits| limits.timeout = Duration::from_millis(50));
    assert_eq!(call.run(&spin).await.outcome, Outcome::Deadline, "a sleeping ticker wakes for a guest");
}

#[tokio::test]
async fn ten_thousand_calls_can_wait_in_the_host_at_once() {
    const CALLS: u32 = 10_000;
    let sandbox = sandbox_with(SandboxConfig { slots: CALLS, ..SandboxConfig::default() });
    let sleep = prepare(&sandbox, &guest::bytes("misbehave"));
    let call = Call::new(&sleep, "sleep", "{}").limits(|limits| limits.timeout = Duration::from_secs(120));
    let mut parked = tokio::task::JoinSet::new();
    for _ in 0..CALLS {
        let (call, sleep) = (call.clone(), sleep.clone());
        parked.spawn(async move { call.run(&sleep).await });
    }
    let begin = std::time::Instant::now();
    while sandbox.gauges().free_slots > 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", sandbox.gauges());
        if let Some(ended) = parked.try_join_next() {
            panic!("a parked call ended: {ended:?}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    parked.shutdown().await;
    health::check(&sandbox, 10_000).await;
}

//! One deadline over everything a guest can do, and fuel that counts exactly.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_core::call::CallReport;
use hotcell_core::outcome::{Outcome, Phase};
use hotcell_core::services::HostServices;
use hotcell_tests::call::{Call, prepare, sandbox};
use hotcell_tests::services::Recorder;
use hotcell_tests::wat_tool::WatTool;
use hotcell_tests::{guest, health};

const DEADLINE: Duration = Duration::from_millis(300);

/// Runs a tool that never ends, and checks that it was stopped on time and left nothing.
async fn stopped(bytes: &[u8], tool: &str) -> CallReport {
    stopped_with(bytes, tool, "{}").await
}

async fn stopped_with(bytes: &[u8], tool: &str, arguments: &str) -> CallReport {
    let sandbox = sandbox();
    let prepared = prepare(&sandbox, bytes);
    let begin = Instant::now();
    let report =
        Call::new(&prepared, tool, arguments).limits(|limits| limits.timeout = DEADLINE).run(&prepared).await;
    let took = begin.elapsed();
    assert_eq!(report.outcome, Outcome::Deadline, "{report:?}");
    assert!(took >= DEADLINE, "answered after {took:?}, before the deadline");
    assert!(took < DEADLINE + Duration::from_secs(1), "answered after {took:?}");
    health::check(&sandbox, 64).await;
    report
}

fn looping(tool: &WatTool<'_>) -> Vec<u8> {
    tool.build().unwrap()
}

const LOOP: &str = "(loop (br 0)) (unreachable)";

#[tokio::test]
async fn an_endless_loop_ends_at_its_deadline_and_its_fuel_is_counted() {
    let report = stopped(&looping(&WatTool { call: LOOP, ..WatTool::default() }), "t").await;
    assert_eq!(report.phase, Some(Phase::Call));
    // A hundred times less than an idle machine burns, and a thousand times more than a count that is off.
    assert!(report.usage.fuel > 1_000_000, "{} units in 300 ms", report.usage.fuel);
}

#[tokio::test]
async fn a_start_function_that_loops_ends_while_instantiating() {
    let tool =
        WatTool { call: "(call $ok)", extra: "(func $s (loop (br 0))) (start $s)", ..WatTool::default() };
    let report = stopped(&looping(&tool), "t").await;
    assert_eq!(report.phase, Some(Phase::Instantiate));
}

#[tokio::test]
async fn loops_while_arguments_go_in_and_after_the_result_came_out_end_too() {
    let lower = WatTool { call: "(call $ok)", realloc: Some(LOOP), ..WatTool::default() };
    stopped(&looping(&lower), "t").await;
    let cleanup = WatTool { call: "(call $ok)", post_return: Some("(loop (br 0))"), ..WatTool::default() };
    stopped(&looping(&cleanup), "t").await;
}

#[tokio::test]
async fn bulk_operations_in_a_loop_end_at_the_deadline() {
    let fill = "(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 67000000)) (br 0)) (unreachable)";
    stopped(&looping(&WatTool { call: fill, pages: 1023, ..WatTool::default() }), "t").await;
}

#[tokio::test]
async fn an_hour_of_sleep_in_the_host_ends_at_the_deadline() {
    let report = stopped(&guest::bytes("misbehave"), "sleep").await;
    assert!(report.usage.wall_us.host_wait > 200_000 || report.usage.wall_us.guest < 100_000, "{report:?}");
}

#[tokio::test]
async fn a_guest_that_writes_and_asks_for_ever_ends_at_the_deadline() {
    stopped_with(&guest::bytes("misbehave"), "flood_stdout", r#"{"bytes":1000000000000}"#).await;
}

#[tokio::test]
async fn the_same_input_burns_the_same_fuel_alone_and_in_company() {
    let sandbox = sandbox();
    let stats = prepare(&sandbox, &guest::bytes("text-stats"));
    let arguments = serde_json::json!({ "text": "the quick brown fox\n".repeat(500) }).to_string();
    let call = Call::new(&stats, "count", &arguments);
    let mut burned = Vec::new();
    for _ in 0..3 {
        let report = call.clone().run(&stats).await;
        assert_eq!(report.outcome, Outcome::Ok, "{report:?}");
        burned.push(report.usage.fuel);
    }
    let spin = prepare(&sandbox, &looping(&WatTool { call: LOOP, ..WatTool::default() }));
    let noise = Call::new(&spin, "t", "{}").limits(|limits| limits.timeout = DEADLINE);
    let others = futures::future::join_all((0..3).map(|_| noise.clone().run(&spin)));
    let (_others, report) = futures::future::join(others, call.clone().run(&stats)).await;
    burned.push(report.usage.fuel);
    assert!(burned.iter().all(|fuel| *fuel == burned[0] && *fuel > 10_000), "{burned:?}");

    let half = call.limits(|limits| limits.fuel = burned[0] / 2).run(&stats).await;
    assert_eq!(half.outcome, Outcome::Fuel, "{half:?}");
    assert_eq!(half.usage.fuel, burned[0] / 2);
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn more_calls_than_slots_wait_for_admission_and_none_fails() {
    let sandbox = sandbox();
    let stats = prepare(&sandbox, &guest::bytes("text-stats"));
    let services: Arc<dyn HostServices> = Arc::new(Recorder::default());
    let calls = (0..500).map(|_| {
        let request = Call::new(&stats, "count", r#"{"text":"a b"}"#).request;
        stats.call(request, Arc::clone(&services))
    });
    for report in futures::future::join_all(calls).await {
        assert_eq!(report.outcome, Outcome::Ok, "{report:?}");
    }
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn a_call_that_waits_for_admission_keeps_its_deadline() {
    let sandbox = sandbox();
    let sleepers = prepare(&sandbox, &guest::bytes("misbehave"));
    let sleep =
        Call::new(&sleepers, "sleep", "{}").limits(|limits| limits.timeout = Duration::from_millis(1500));
    let parked = futures::future::join_all((0..64).map(|_| sleep.clone().run(&sleepers)));
    let late = async {
        health::wait_for(&sandbox, "all slots to be taken", |sandbox| sandbox.gauges().free_slots == 0).await;
        Call::new(&sleepers, "echo", "{}").limits(|limits| limits.timeout = DEADLINE).run(&sleepers).await
    };
    let (_parked, report) = futures::future::join(parked, late).await;
    assert_eq!((report.outcome, report.phase), (Outcome::Deadline, Some(Phase::Queue)), "{report:?}");
    health::check(&sandbox, 64).await;
}

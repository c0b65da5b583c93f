//! Every way to crash has a code and a kind, and none of them reaches the host.

use hotcell_core::outcome::{Outcome, TrapKind};
use hotcell_tests::call::{Call, prepare, sandbox};
use hotcell_tests::services::Recorder;
use hotcell_tests::wat_tool::WatTool;
use hotcell_tests::{guest, health};
use std::sync::Arc;

#[tokio::test]
async fn each_trap_is_reported_with_its_kind() {
    let table = "(table 4 funcref) (type $v (func)) (func $w (param i32)) (elem (i32.const 1) $w)";
    let recurse = "(func $r (call $r) (call $r))";
    let cases = [
        ("(unreachable)", "", TrapKind::Unreachable),
        ("(drop (i32.load (i32.const 9000000))) (call $ok)", "", TrapKind::MemoryOob),
        ("(drop (i32.div_s (i32.const 1) (i32.const 0))) (call $ok)", "", TrapKind::DivByZero),
        ("(drop (i32.div_s (i32.const 0x80000000) (i32.const -1))) (call $ok)", "", TrapKind::IntOverflow),
        ("(drop (i32.trunc_f64_s (f64.const nan))) (call $ok)", "", TrapKind::BadFloatConversion),
        ("(call_indirect (type $v) (i32.const 0)) (call $ok)", table, TrapKind::IndirectNull),
        ("(call_indirect (type $v) (i32.const 1)) (call $ok)", table, TrapKind::IndirectType),
        ("(call_indirect (type $v) (i32.const 9)) (call $ok)", table, TrapKind::TableOob),
        ("(call $r) (call $ok)", recurse, TrapKind::StackOverflow),
    ];
    let sandbox = sandbox();
    for (call, extra, kind) in cases {
        let tool = prepare(&sandbox, &WatTool { call, extra, ..WatTool::default() }.build().unwrap());
        let report = Call::new(&tool, "t", "{}").run(&tool).await;
        assert_eq!(report.outcome, Outcome::Trap, "{call}: {report:?}");
        assert_eq!(report.trap.map(|trap| trap.kind), Some(kind), "{call}");
        assert!(report.advice.is_some(), "{call}");
    }
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn a_panic_is_a_trap_with_the_end_of_standard_error() {
    let sandbox = sandbox();
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    let report = Call::new(&misbehave, "panic", "{}").run(&misbehave).await;
    assert_eq!(report.outcome, Outcome::Trap, "{report:?}");
    assert_eq!(report.trap.map(|trap| trap.kind), Some(TrapKind::Unreachable));
    assert!(report.stderr_tail.as_deref().is_some_and(|tail| tail.contains("panicked")), "{report:?}");
    assert!(report.stderr_tail.is_none_or(|tail| tail.len() <= 4096));
}

#[tokio::test]
async fn recursion_without_end_is_a_stack_overflow() {
    let sandbox = sandbox();
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    let report = Call::new(&misbehave, "recurse", "{}").run(&misbehave).await;
    assert_eq!(report.outcome, Outcome::Trap, "{report:?}");
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn exiting_is_the_tools_failure_whatever_the_status() {
    let sandbox = sandbox();
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    for status in [0, 1, 7] {
        let arguments = format!(r#"{{"code":{status}}}"#);
        let report = Call::new(&misbehave, "exit", &arguments).run(&misbehave).await;
        assert_eq!(report.outcome, Outcome::ToolError, "{report:?}");
        assert!(report.message.contains("exited"), "{report:?}");
    }
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn a_panic_of_a_host_function_is_internal_and_the_next_call_is_fine() {
    let sandbox = sandbox();
    let logger = prepare(&sandbox, &guest::bytes("log-flood"));
    let call = Call::new(&logger, "log_flood", "{}");
    let report = logger.call(call.request.clone(), Arc::new(Recorder::panicking())).await;
    assert_eq!(report.outcome, Outcome::Internal, "{report:?}");
    assert!(!report.message.contains("on purpose"), "the host's own words stay with the host: {report:?}");
    health::check(&sandbox, 64).await;
    assert_eq!(call.run(&logger).await.outcome, Outcome::Ok);
}

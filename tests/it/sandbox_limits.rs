//! Memory, results, output, instances and handles stop at their limits.

use hotcell_core::limits::CallLimits;
use hotcell_core::outcome::{Outcome, Phase, TrapKind};
use hotcell_sandbox::SandboxConfig;
use hotcell_tests::call::{Call, compile, prepare, sandbox, sandbox_with};
use hotcell_tests::wat_tool::WatTool;
use hotcell_tests::{guest, health};

const MIB: u64 = 1 << 20;

/// P-42.
#[tokio::test]
async fn allocation_without_end_stops_at_the_limit() {
    let sandbox = sandbox();
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    let report = Call::new(&misbehave, "allocate", "{}").run(&misbehave).await;
    assert_eq!(report.outcome, Outcome::MemoryLimit, "{report:?}");
    assert_eq!(report.trap.map(|trap| trap.kind), Some(TrapKind::Unreachable));
    assert!(report.usage.growth_refused > 0 && report.usage.peak_memory_bytes <= 64 * MIB, "{report:?}");
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn a_guest_that_is_refused_memory_and_goes_on_keeps_its_own_outcome() {
    let sandbox = sandbox();
    let grow = "(drop (memory.grow (i32.const 2000))) (call $ok)";
    let tool = prepare(&sandbox, &WatTool { call: grow, ..WatTool::default() }.build().unwrap());
    let report = Call::new(&tool, "t", "{}").run(&tool).await;
    assert_eq!((report.outcome, report.usage.growth_refused), (Outcome::Ok, 1), "{report:?}");
}

#[tokio::test]
async fn a_memory_that_starts_above_the_limit_of_the_call_is_refused_while_instantiating() {
    let sandbox = sandbox();
    let tool =
        prepare(&sandbox, &WatTool { call: "(call $ok)", pages: 64, ..WatTool::default() }.build().unwrap());
    let report = Call::new(&tool, "t", "{}").limits(|limits| limits.memory_bytes = MIB).run(&tool).await;
    assert_eq!(
        (report.outcome, report.phase),
        (Outcome::MemoryLimit, Some(Phase::Instantiate)),
        "{report:?}"
    );
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn a_memory_that_starts_above_what_the_sandbox_has_does_not_load() {
    let sandbox = sandbox();
    let tool = WatTool { call: "(call $ok)", pages: 40_000, ..WatTool::default() }.build().unwrap();
    let error = sandbox.load(&compile(&tool)).unwrap_err().to_string();
    assert!(error.contains("cannot be loaded"), "{error}");
}

#[tokio::test]
async fn several_memories_count_together() {
    let sandbox = sandbox();
    let extra = "(memory $b 0) (memory $c 0)";
    let call = "(if (i32.lt_s (memory.grow $b (i32.const 600)) (i32.const 0)) (then (unreachable)))
                (if (i32.lt_s (memory.grow $c (i32.const 600)) (i32.const 0)) (then (unreachable)))
                (call $ok)";
    let tool = prepare(&sandbox, &WatTool { call, extra, ..WatTool::default() }.build().unwrap());
    let report = Call::new(&tool, "t", "{}").run(&tool).await;
    assert_eq!(report.outcome, Outcome::MemoryLimit, "{report:?}");
    assert!(report.usage.peak_memory_bytes <= 64 * MIB, "{report:?}");
    let wide =
        sandbox_with(SandboxConfig { slots: 8, max_memory_bytes: 128 * MIB, ..SandboxConfig::default() });
    let tool = prepare(&wide, &WatTool { call, extra, ..WatTool::default() }.build().unwrap());
    let report =
        Call::new(&tool, "t", "{}").limits(|limits| limits.memory_bytes = 128 * MIB).run(&tool).await;
    assert_eq!(report.outcome, Outcome::Ok, "{report:?}");
}

#[tokio::test]
async fn tables_stop_at_their_limit() {
    let sandbox = sandbox();
    let extra = "(table $x 1 funcref)";
    let call =
        "(if (i32.lt_s (table.grow $x (ref.null func) (i32.const 30000)) (i32.const 0)) (then (unreachable)))
                (call $ok)";
    let tool = prepare(&sandbox, &WatTool { call, extra, ..WatTool::default() }.build().unwrap());
    let report = Call::new(&tool, "t", "{}").run(&tool).await;
    assert_eq!(report.outcome, Outcome::ResourceLimit, "{report:?}");
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn a_limit_above_the_sandbox_is_an_error_before_anything_runs() {
    let sandbox = sandbox();
    let limits = CallLimits { memory_bytes: 65 * MIB, ..CallLimits::default() };
    assert!(sandbox.check_limits(&limits).unwrap_err().to_string().contains("largest allowed"));
}

#[tokio::test]
async fn a_huge_result_is_refused_and_the_host_never_holds_it() {
    let sandbox =
        sandbox_with(SandboxConfig { slots: 8, max_memory_bytes: 256 * MIB, ..SandboxConfig::default() });
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    for (size, memory) in [(40 * MIB, 256 * MIB), (200 * MIB, 256 * MIB), (2 * MIB, 64 * MIB)] {
        let arguments = format!(r#"{{"bytes":{size}}}"#);
        let call =
            Call::new(&misbehave, "huge_result", &arguments).limits(|limits| limits.memory_bytes = memory);
        let report = call.run(&misbehave).await;
        assert_eq!(
            (report.outcome, report.phase),
            (Outcome::ResultTooLarge, Some(Phase::Lift)),
            "{report:?}"
        );
        assert!(report.content.is_empty());
    }
    health::check(&sandbox, 8).await;
}

#[tokio::test]
async fn a_result_that_only_claims_to_be_huge_is_refused_without_a_copy() {
    let sandbox =
        sandbox_with(SandboxConfig { slots: 8, max_memory_bytes: 256 * MIB, ..SandboxConfig::default() });
    // 200 MiB of untouched zeros: they cost the guest nothing, and must cost the host nothing.
    let call = "(call $text (i32.const 65536) (i32.const 209715200))";
    let tool = prepare(&sandbox, &WatTool { call, pages: 3300, ..WatTool::default() }.build().unwrap());
    let before = health::resident_bytes();
    let report =
        Call::new(&tool, "t", "{}").limits(|limits| limits.memory_bytes = 256 * MIB).run(&tool).await;
    assert_eq!(report.outcome, Outcome::ResultTooLarge, "{report:?}");
    assert!(health::resident_bytes() < before + 64 * MIB);
}

#[tokio::test]
async fn output_beyond_its_limit_is_counted_and_dropped() {
    let sandbox = sandbox();
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    let arguments = format!(r#"{{"bytes":{}}}"#, 8 * MIB);
    let report = Call::new(&misbehave, "flood_stdout", &arguments).run(&misbehave).await;
    assert_eq!(report.outcome, Outcome::Ok, "{report:?}");
    let usage = &report.usage;
    assert!(usage.output_bytes >= 8 * MIB, "{usage:?}");
    assert_eq!(usage.output_bytes - usage.output_dropped, 256 << 10);
}

#[tokio::test]
async fn handles_of_the_host_stop_at_their_limit() {
    let sandbox = sandbox();
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    // Each call opens a stream to standard output; the limit leaves no room for a program's own handles.
    let call = Call::new(&misbehave, "echo", "{}").limits(|limits| limits.wasi_handles = 0);
    let report = call.run(&misbehave).await;
    if report.outcome != Outcome::Ok {
        assert_eq!(report.outcome, Outcome::ResourceLimit, "{report:?}");
    }
    let report = Call::new(&misbehave, "flood_stdout", "{}")
        .limits(|limits| limits.wasi_handles = 0)
        .run(&misbehave)
        .await;
    assert_eq!(report.outcome, Outcome::ResourceLimit, "{report:?}");
    assert_eq!(report.trap.map(|trap| trap.kind), Some(TrapKind::HandleTableFull));
    health::check(&sandbox, 64).await;
}

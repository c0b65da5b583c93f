//! Ten thousand calls, good and hostile, in one process: nothing is lost and nothing is left.

use std::time::Duration;

use hotcell_core::outcome::Outcome;
use hotcell_sandbox::{Prepared, Sandbox};
use hotcell_tests::call::{Call, prepare, sandbox};
use hotcell_tests::wat_tool::WatTool;
use hotcell_tests::{guest, health};

/// What one kind of call does and how it must end.
struct Kind {
    prepared: Prepared,
    tool: &'static str,
    arguments: &'static str,
    outcome: Outcome,
}

fn kinds(sandbox: &Sandbox) -> Vec<Kind> {
    let misbehave = prepare(sandbox, &guest::bytes("misbehave"));
    let stats = prepare(sandbox, &guest::bytes("text-stats"));
    let wat = |call: &str| prepare(sandbox, &WatTool { call, ..WatTool::default() }.build().unwrap());
    let kind = |prepared: &Prepared, tool, arguments, outcome| Kind {
        prepared: prepared.clone(),
        tool,
        arguments,
        outcome,
    };
    vec![
        kind(&stats, "count", r#"{"text":"to be or not to be"}"#, Outcome::Ok),
        kind(&misbehave, "echo", "{}", Outcome::Ok),
        kind(&misbehave, "spin", "{}", Outcome::Deadline),
        kind(&stats, "count", r#"{"text":"that is the question"}"#, Outcome::Ok),
        kind(&misbehave, "allocate", "{}", Outcome::MemoryLimit),
        kind(&misbehave, "panic", "{}", Outcome::Trap),
        kind(&misbehave, "sleep", "{}", Outcome::Deadline),
        kind(&misbehave, "exit", "{}", Outcome::ToolError),
        kind(&misbehave, "invalid_utf8", "{}", Outcome::InvalidResult),
        kind(&wat("(unreachable)"), "t", "{}", Outcome::Trap),
        kind(&wat("(call $text (i32.const 0) (i32.const 0x7fffffff))"), "t", "{}", Outcome::InvalidResult),
        kind(&wat("(call $ok)"), "t", "{}", Outcome::Ok),
    ]
}

#[tokio::test]
async fn ten_thousand_mixed_calls_leave_nothing_behind() {
    const CALLS: usize = 10_000;
    const WARM: usize = 1_000;
    const AT_ONCE: usize = 16;
    let sandbox = sandbox();
    let kinds = kinds(&sandbox);
    let mut running = tokio::task::JoinSet::new();
    let mut after_warm_up = 0;
    for (number, kind) in kinds.iter().cycle().take(CALLS).enumerate() {
        if number == WARM {
            drain(&mut running).await;
            health::check(&sandbox, 64).await;
            after_warm_up = health::resident_bytes();
        }
        if running.len() >= AT_ONCE {
            running.join_next().await.unwrap().unwrap();
        }
        // Enough for a call that allocates all it may; short for those that never end.
        let timeout = if kind.outcome == Outcome::Deadline { 20 } else { 10_000 };
        let call = Call::new(&kind.prepared, kind.tool, kind.arguments);
        let call = call.limits(|limits| limits.timeout = Duration::from_millis(timeout));
        let (prepared, expected) = (kind.prepared.clone(), kind.outcome);
        running.spawn(async move {
            let report = call.run(&prepared).await;
            assert_eq!(report.outcome, expected, "{report:?}");
        });
    }
    drain(&mut running).await;
    health::check(&sandbox, 64).await;
    let grown = health::resident_bytes().saturating_sub(after_warm_up);
    assert!(grown <= 32 << 20, "{grown} bytes more than after the first {WARM} calls");
}

async fn drain(running: &mut tokio::task::JoinSet<()>) {
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}

//! How late a caller is answered and a guest is gone: 1,000 endless loops at once, and one blocked in a sleep.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use hotcell_benches::{Samples, print};
use hotcell_core::outcome::Outcome;
use hotcell_sandbox::{GuestGone, Observer, Prepared, SandboxConfig};
use hotcell_tests::call::{Call, prepare, sandbox_with};
use hotcell_tests::wat_tool::WatTool;
use hotcell_tests::{guest, health};
use serde_json::json;

const LOOPS: u32 = 1_000;
const DEADLINE: Duration = Duration::from_secs(1);
const SLEEPS: usize = 50;

/// Keeps how late each stopped guest was gone.
#[derive(Default)]
struct Gone {
    late: Mutex<Samples>,
    never_ran: Mutex<usize>,
}

impl Observer for Gone {
    fn guest_gone(&self, gone: &GuestGone<'_>) {
        if gone.has_run {
            self.late.lock().unwrap_or_else(PoisonError::into_inner).push(gone.late);
        } else {
            *self.never_ran.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
    }
}

fn main() -> Result<()> {
    let gone = Arc::new(Gone::default());
    let config = SandboxConfig {
        slots: LOOPS,
        observer: Some(Arc::clone(&gone) as Arc<dyn Observer>),
        ..SandboxConfig::default()
    };
    let sandbox = sandbox_with(config);
    let call = "(loop (br 0)) (unreachable)";
    let spin = prepare(&sandbox, &WatTool { call, ..WatTool::default() }.build()?);
    let sleep = prepare(&sandbox, &guest::bytes("misbehave"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let answered = runtime.block_on(loops(&spin));
    runtime.block_on(health::check(&sandbox, usize::try_from(LOOPS)?));
    let loops_gone = std::mem::take(&mut *gone.late.lock().unwrap_or_else(PoisonError::into_inner));
    let slept = runtime.block_on(sleeps(&sleep));
    runtime.block_on(health::check(&sandbox, usize::try_from(LOOPS)?));
    let sleeps_gone = std::mem::take(&mut *gone.late.lock().unwrap_or_else(PoisonError::into_inner));
    print(&json!({
        "bench": "deadline",
        "guest_workers": 2,
        "loops": {
            "count": LOOPS,
            "deadline_ms": DEADLINE.as_millis(),
            "never_ran": *gone.never_ran.lock().unwrap_or_else(PoisonError::into_inner),
            "answered_late": answered.to_json(),
            "guest_gone_late": loops_gone.to_json(),
        },
        "an_hour_of_sleep": { "answered_late": slept.to_json(), "guest_gone_late": sleeps_gone.to_json() },
    }));
    Ok(())
}

async fn loops(spin: &Prepared) -> Samples {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..LOOPS {
        let spin = spin.clone();
        calls.spawn(async move { late(&spin, "t", DEADLINE).await });
    }
    let mut samples = Samples::default();
    samples.extend(calls.join_all().await.into_iter().flatten());
    samples
}

async fn sleeps(sleep: &Prepared) -> Samples {
    let mut samples = Samples::default();
    for _ in 0..SLEEPS {
        samples.extend(late(sleep, "sleep", Duration::from_millis(50)).await);
    }
    samples
}

/// How late the answer came; nothing when the guest had not run.
async fn late(prepared: &Prepared, tool: &str, deadline: Duration) -> Option<Duration> {
    let call = Call::new(prepared, tool, "{}").limits(|limits| limits.timeout = deadline);
    let begin = Instant::now();
    let report = call.run(prepared).await;
    let late = begin.elapsed().saturating_sub(deadline);
    assert_eq!(report.outcome, Outcome::Deadline, "{report:?}");
    (report.usage.wall_us.guest > 0).then_some(late)
}

//! What well-behaved calls notice of 200 endless loops beside them: 40 calls per second, half of which
//! sleep twice for a millisecond in the host.

use std::time::{Duration, Instant};

use anyhow::Result;
use hotcell_benches::{Samples, print};
use hotcell_sandbox::{Prepared, SandboxConfig};
use hotcell_tests::call::{Call, prepare, sandbox_with};
use hotcell_tests::wat_tool::WatTool;
use hotcell_tests::{guest, health};
use serde_json::json;

const LOOPS: usize = 200;
const SECONDS: u64 = 10;
const PERIOD: Duration = Duration::from_millis(25);

fn main() -> Result<()> {
    let sandbox = sandbox_with(SandboxConfig { slots: 512, ..SandboxConfig::default() });
    let spin =
        prepare(&sandbox, &WatTool { call: "(loop (br 0)) (unreachable)", ..WatTool::default() }.build()?);
    let echo = prepare(&sandbox, &WatTool { call: "(call $ok)", ..WatTool::default() }.build()?);
    let naps = prepare(&sandbox, &guest::bytes("naps"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let quiet = runtime.block_on(measure(&echo, &naps));
    let beside = runtime.block_on(async {
        let mut loops = tokio::task::JoinSet::new();
        for _ in 0..LOOPS {
            let spin = spin.clone();
            let call = Call::new(&spin, "t", "{}").principal("hostile");
            let call = call.limits(|limits| limits.timeout = Duration::from_secs(600));
            loops.spawn(async move { call.run(&spin).await });
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let beside = measure(&echo, &naps).await;
        loops.shutdown().await;
        health::check(&sandbox, 512).await;
        beside
    });
    print(&json!({
        "bench": "fairness",
        "guest_workers": 2,
        "alone": { "small": quiet.0.to_json(), "two_naps": quiet.1.to_json() },
        "beside_loops": { "loops": LOOPS, "small": beside.0.to_json(), "two_naps": beside.1.to_json() },
    }));
    Ok(())
}

/// Latencies of small calls and of calls that nap.
async fn measure(echo: &Prepared, naps: &Prepared) -> (Samples, Samples) {
    let begin = Instant::now();
    let mut small = tokio::task::JoinSet::new();
    let mut napping = tokio::task::JoinSet::new();
    let mut next = tokio::time::interval(PERIOD);
    while begin.elapsed() < Duration::from_secs(SECONDS) {
        next.tick().await;
        let echo = echo.clone();
        small.spawn(async move { latency(&echo, "t", "{}").await });
        let naps = naps.clone();
        napping.spawn(async move { latency(&naps, "nap", r#"{"times":2,"ms":1}"#).await });
    }
    let mut samples = (Samples::default(), Samples::default());
    samples.0.extend(small.join_all().await);
    samples.1.extend(napping.join_all().await);
    samples
}

async fn latency(prepared: &Prepared, tool: &str, arguments: &str) -> Duration {
    let call = Call::new(prepared, tool, arguments).principal("friendly");
    let begin = Instant::now();
    let report = call.run(prepared).await;
    assert!(report.outcome.is_ok(), "{report:?}");
    begin.elapsed()
}

//! Is the host well? Asked after every guest that misbehaved.

use std::time::{Duration, Instant};

use hotcell_core::outcome::Outcome;
use hotcell_sandbox::{Prepared, Sandbox};

use crate::call::Call;
use crate::wat_tool::WatTool;

/// A tool that does what it should.
///
/// # Panics
/// Never, unless this file is wrong.
#[must_use]
pub fn control_tool() -> Vec<u8> {
    WatTool { call: "(call $ok)", ..WatTool::default() }.build().expect("the control tool is valid")
}

/// Waits until no call and no guest is left and all slots are back, then makes a control call.
///
/// # Panics
/// When the host is not well within five seconds.
pub async fn check(sandbox: &Sandbox, slots: usize) {
    wait_for(sandbox, "calls, guests and slots to return", |sandbox| {
        let gauges = sandbox.gauges();
        gauges.calls == 0 && gauges.guests == 0 && gauges.free_slots == slots
    })
    .await;
    let control: Prepared = crate::call::prepare(sandbox, &control_tool());
    let report = Call::new(&control, "t", "{}").run(&control).await;
    assert_eq!(report.outcome, Outcome::Ok, "the control call failed: {report:?}");
}

/// Waits for a state of the sandbox, at most five seconds.
///
/// # Panics
/// When the state does not come.
pub async fn wait_for(sandbox: &Sandbox, what: &str, state: impl Fn(&Sandbox) -> bool) {
    let begin = Instant::now();
    while !state(sandbox) {
        assert!(
            begin.elapsed() < Duration::from_secs(5),
            "waited five seconds for {what}: {:?}",
            sandbox.gauges()
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Bytes of this process that are in memory.
///
/// # Panics
/// When the system does not tell.
#[must_use]
pub fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this system tells what a process uses");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("the line is there");
    let kib: u64 =
        line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number of KiB");
    kib << 10
}

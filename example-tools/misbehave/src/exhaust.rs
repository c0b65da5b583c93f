//! Tools that use up what they can get.

use std::hint::black_box;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use hotcell_tool::{Failure, Fault, OrFail as _, tool};
use schemars::JsonSchema;
use serde::Serialize;

/// Compute for ever without asking the host for anything.
#[tool(read_only)]
pub(crate) fn spin() {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Call itself until the stack ends.
#[tool(read_only)]
pub(crate) fn recurse() -> u64 {
    // The bound is never reached; it keeps the compiler from turning the recursion into a loop.
    deeper(0, black_box(u64::MAX))
}

fn deeper(depth: u64, bottom: u64) -> u64 {
    if depth == bottom {
        return depth;
    }
    deeper(depth + 1, bottom).rotate_left(1) ^ depth
}

/// Allocate memory without end, and write to each page of it.
#[tool(read_only)]
pub(crate) fn allocate(
    /// How many bytes to take per step; 1 MiB unless it is given.
    step_bytes: Option<u32>,
) {
    let step = usize::try_from(step_bytes.unwrap_or(1 << 20)).unwrap_or(usize::MAX).max(1);
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(vec![1; step]);
        black_box(&kept);
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Written {
    /// Bytes the host took.
    bytes: u64,
}

/// Write far more to standard output than anybody would read.
#[tool(read_only)]
pub(crate) fn flood_stdout(
    /// How many bytes to write; 64 MiB unless it is given.
    bytes: Option<u64>,
) -> Result<Written, Failure> {
    let line = [b"all work and no play makes a dull tool ".as_slice(); 100].concat();
    let mut out = std::io::stdout().lock();
    let wanted = bytes.unwrap_or(64 << 20);
    let mut bytes = 0_u64;
    while bytes < wanted {
        let left = usize::try_from(wanted - bytes).unwrap_or(usize::MAX);
        let piece = line.get(..left).unwrap_or(&line);
        out.write_all(piece).or_fail(Fault::Denied, "standard output was closed")?;
        bytes += piece.len() as u64;
    }
    out.flush().or_fail(Fault::Denied, "standard output was closed")?;
    Ok(Written { bytes })
}

/// Do nothing at all, for an hour.
#[tool(read_only)]
pub(crate) fn sleep(
    /// How many milliseconds; one hour unless it is given.
    ms: Option<u64>,
) -> &'static str {
    thread::sleep(Duration::from_millis(ms.unwrap_or(3_600_000)));
    "good morning"
}

//! Waits in the host several times: a call that spends its time parked, not computing.

use std::thread;
use std::time::Duration;

use hotcell_tool::{Failure, tool};

/// Most naps of one call.
const MAX_NAPS: u32 = 100_000;

/// Sleep several times, and return how often.
#[tool(read_only)]
fn nap(
    /// How often; 2 unless it is given, at most 100000.
    times: Option<u32>,
    /// How many milliseconds each time; 1 unless it is given.
    ms: Option<u32>,
) -> Result<u32, Failure> {
    let times = times.unwrap_or(2);
    if times > MAX_NAPS {
        return Err(Failure::invalid_input(format!("`times` is {times}, at most {MAX_NAPS} are possible")));
    }
    for _ in 0..times {
        thread::sleep(Duration::from_millis(u64::from(ms.unwrap_or(1))));
    }
    Ok(times)
}

hotcell_tool::component!(nap);

#[cfg(test)]
mod tests {
    use hotcell_tool::testing;
    use serde_json::json;

    #[test]
    fn naps_are_counted() {
        let count = |arguments| testing::call(&super::TOOLS, "nap", &arguments);
        assert_eq!(count(json!({})).unwrap().structured_text(), Some("2"));
        assert_eq!(count(json!({"times": 3, "ms": 0})).unwrap().structured_text(), Some("3"));
        assert!(count(json!({"times": 100_001})).is_err());
    }
}

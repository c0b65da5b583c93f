//! Whether a tool may be called again, and how often it is tried.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Checks, ConfigErrors};

/// How often a call may be tried, the first time included.
pub const ATTEMPTS: RangeInclusive<u32> = 1..=10;

/// Longest wait between two tries that can be set.
pub const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// What calling a tool again means. This is the operator's word; no hint of a tool's author stands for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replay {
    /// It may have an effect a second time: nothing but the model or a person calls it again.
    #[default]
    Manual,
    /// It has no effect: it can be called any number of times.
    Safe,
    /// It has its effect once for each idempotency key, and every try has the key of the first. A call
    /// without a key, which only one outside of a run can be, is not tried again.
    Idempotent,
}

impl Replay {
    /// Whether the loop may call the tool again on its own, for a call with or without a key.
    #[must_use]
    pub const fn allows_retry(self, has_key: bool) -> bool {
        match self {
            Self::Manual => false,
            Self::Safe => true,
            Self::Idempotent => has_key,
        }
    }
}

/// How a call is tried again after a transient failure; see
/// [`CallReport::is_transient`](crate::call::CallReport::is_transient).
///
/// All tries and the waits between them are within the one time limit of the call. Each try after the
/// first takes a call from the caller's budget; for the run they are one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRetry {
    attempts: u32,
    first_wait: Duration,
    longest_wait: Duration,
}

/// Three tries, half a second before the second, doubled each time, up to 30 seconds.
impl Default for ToolRetry {
    fn default() -> Self {
        Self { attempts: 3, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(30) }
    }
}

impl ToolRetry {
    /// Tries `attempts` times in all, waits `first_wait` before the second try and twice as long before
    /// each next one, and never longer than `longest_wait`.
    ///
    /// # Errors
    /// A number of tries that is not among [`ATTEMPTS`], a longest wait above [`MAX_WAIT`], or a first
    /// wait above the longest; everything is told.
    pub fn new(attempts: u32, first_wait: Duration, longest_wait: Duration) -> Result<Self, ConfigErrors> {
        let mut checks = Checks::below("retry");
        checks.within("attempts", attempts, &ATTEMPTS, "tries");
        checks.expect(longest_wait <= MAX_WAIT, "longest_wait", || {
            format!("found {longest_wait:?}, expected at most {MAX_WAIT:?}")
        });
        checks.expect(first_wait <= longest_wait, "first_wait", || {
            format!("found {first_wait:?}, expected at most the longest wait of {longest_wait:?}")
        });
        checks.finish().map(|()| Self { attempts, first_wait, longest_wait })
    }

    /// How often a call is tried, the first time included.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long to wait after this many tries; `None` when there is no other. What the tool asks for is
    /// the least, and the longest wait the most.
    #[must_use]
    pub fn wait_after(&self, tries: u32, asked: Option<Duration>) -> Option<Duration> {
        if tries >= self.attempts {
            return None;
        }
        let doubled = 1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = self.first_wait.saturating_mul(doubled);
        Some(wait.max(asked.unwrap_or_default()).min(self.longest_wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn waits_double_up_to_the_longest_and_heed_what_the_tool_asks_for() {
        let retry = ToolRetry::new(5, 100 * MS, 300 * MS).unwrap();
        let waits: Vec<_> = (1..=5).map(|tries| retry.wait_after(tries, None)).collect();
        assert_eq!(waits, [Some(100 * MS), Some(200 * MS), Some(300 * MS), Some(300 * MS), None]);
        assert_eq!(retry.wait_after(1, Some(250 * MS)), Some(250 * MS));
        assert_eq!(retry.wait_after(1, Some(MS)), Some(100 * MS));
        assert_eq!(retry.wait_after(1, Some(Duration::MAX)), Some(300 * MS));
        let most = ToolRetry::new(10, MAX_WAIT, MAX_WAIT).unwrap();
        assert_eq!(most.wait_after(9, None), Some(MAX_WAIT));
    }

    /// H-35.
    #[test]
    fn tries_and_waits_that_make_no_sense_are_refused_together() {
        for (attempts, first, longest, wrong) in [
            (0, MS, MS, vec!["retry.attempts"]),
            (11, MS, MS, vec!["retry.attempts"]),
            (u32::MAX, 2 * MS, MS, vec!["retry.attempts", "retry.first_wait"]),
            (3, MS, MAX_WAIT + MS, vec!["retry.longest_wait"]),
            (3, Duration::MAX, Duration::MAX, vec!["retry.longest_wait"]),
        ] {
            let errors = ToolRetry::new(attempts, first, longest).unwrap_err();
            let paths: Vec<_> = errors.violations().iter().map(|wrong| wrong.path.as_str()).collect();
            assert_eq!(paths, wrong, "{attempts} {first:?} {longest:?}");
        }
        assert!(ToolRetry::new(1, Duration::ZERO, Duration::ZERO).is_ok());
        let retry = ToolRetry::default();
        assert_eq!(ToolRetry::new(3, 500 * MS, 30_000 * MS).unwrap(), retry);
    }
}

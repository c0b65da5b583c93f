//! What is done about a model that repeats itself.

use std::num::NonZeroU32;

use serde::{Deserialize, Deserializer, Serialize};

use crate::config::{Checks, ConfigErrors};

/// Longest cycle that can be looked for.
pub const MAX_PERIOD: u32 = 16;

/// Most calls that can be remembered.
pub const MAX_HISTORY: u32 = 1_024;

/// Notices calls that repeat with the same arguments and the same result, alone or in a cycle.
///
/// A result that changes breaks the cycle, so asking again and again until something is ready is fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawLoopGuard")]
pub struct LoopGuard {
    max_period: u32,
    threshold: u32,
    history: u32,
    on_trip: OnTrip,
}

/// What happens when a cycle is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum OnTrip {
    /// The model is told.
    Warn,
    /// The model is told, and the run stops the time after it was told so many times.
    Stop {
        /// How often the model is told before the run stops.
        after: u32,
    },
}

/// A loop guard as it was written down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawLoopGuard {
    max_period: u32,
    threshold: u32,
    history: u32,
    on_trip: OnTrip,
}

impl Default for RawLoopGuard {
    fn default() -> Self {
        let LoopGuard { max_period, threshold, history, on_trip } = LoopGuard::default();
        Self { max_period, threshold, history, on_trip }
    }
}

/// Cycles of up to 4 calls, three laps, the last 64 calls, and a warning.
impl Default for LoopGuard {
    fn default() -> Self {
        Self { max_period: 4, threshold: 3, history: 64, on_trip: OnTrip::Warn }
    }
}

impl LoopGuard {
    /// Notices `threshold` equal laps of up to `max_period` calls among the last `history` calls.
    ///
    /// # Errors
    /// A period that is not from 1 to [`MAX_PERIOD`], less than two laps, or a history that is too short
    /// for the longest cycle or longer than [`MAX_HISTORY`]; everything is told.
    pub fn new(
        max_period: NonZeroU32,
        threshold: u32,
        history: u32,
        on_trip: OnTrip,
    ) -> Result<Self, ConfigErrors> {
        Self { max_period: max_period.get(), threshold, history, on_trip }.checked("loop_guard")
    }

    /// The same guard, which does this when it notices a cycle.
    #[must_use]
    pub const fn on_trip(mut self, on_trip: OnTrip) -> Self {
        self.on_trip = on_trip;
        self
    }

    /// The longest cycle that is looked for, in calls.
    #[must_use]
    pub const fn max_period(&self) -> u32 {
        self.max_period
    }

    /// How many equal laps make a cycle.
    #[must_use]
    pub const fn threshold(&self) -> u32 {
        self.threshold
    }

    /// How many calls are remembered.
    #[must_use]
    pub const fn history(&self) -> u32 {
        self.history
    }

    /// What happens when a cycle is noticed.
    #[must_use]
    pub const fn when_tripped(&self) -> OnTrip {
        self.on_trip
    }

    fn checked(self, path: &str) -> Result<Self, ConfigErrors> {
        self.check(path).map(|()| self)
    }

    /// Checks all fields, which stand below this path.
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigErrors> {
        let mut checks = Checks::below(path);
        checks.within("max_period", self.max_period, &(1..=MAX_PERIOD), "calls");
        checks.expect(self.threshold >= 2, "threshold", || {
            format!("found {}, expected at least 2 laps", self.threshold)
        });
        let needed = self.max_period.saturating_mul(self.threshold);
        checks.expect((needed..=MAX_HISTORY).contains(&self.history), "history", || {
            format!(
                "found {}, expected {needed} (max_period x threshold) to {MAX_HISTORY} calls",
                self.history
            )
        });
        checks.finish()
    }
}

impl RawLoopGuard {
    const fn unchecked(&self) -> LoopGuard {
        let &Self { max_period, threshold, history, on_trip } = self;
        LoopGuard { max_period, threshold, history, on_trip }
    }
}

impl TryFrom<RawLoopGuard> for LoopGuard {
    type Error = ConfigErrors;
    fn try_from(raw: RawLoopGuard) -> Result<Self, ConfigErrors> {
        raw.unchecked().checked("loop_guard")
    }
}

/// Reads a guard that is a part of what is checked as a whole.
pub(crate) fn read_unchecked<'de, D: Deserializer<'de>>(from: D) -> Result<Option<LoopGuard>, D::Error> {
    Ok(Option::<RawLoopGuard>::deserialize(from)?.map(|raw| raw.unchecked()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_that_makes_no_sense_is_refused_with_everything_that_is_wrong() {
        let text = r#"{"max_period": 0, "threshold": 1, "history": 4096}"#;
        let error = serde_json::from_str::<LoopGuard>(text).unwrap_err().to_string();
        for field in ["loop_guard.max_period", "loop_guard.threshold", "loop_guard.history"] {
            assert!(error.contains(field), "{error}");
        }
        assert!(LoopGuard::new(NonZeroU32::new(4).unwrap(), 3, 11, OnTrip::Warn).is_err());
        assert!(serde_json::from_str::<LoopGuard>(r#"{"perod": 1}"#).is_err());
        let guard = LoopGuard::default().on_trip(OnTrip::Stop { after: 2 });
        let text = serde_json::to_string(&guard).unwrap();
        assert_eq!(serde_json::from_str::<LoopGuard>(&text).unwrap(), guard);
    }
}

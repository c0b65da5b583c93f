//! The limits of one run.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::{Checks, ConfigErrors};
use crate::cost::CostLimit;
use crate::loop_guard::LoopGuard;
use crate::units::millis;

/// Longest time limit that can be set; a longer one is a mistake.
pub const MAX_TIME: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// What happens when a run has used its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTurnLimit {
    /// One more model call, without tools, for a final account.
    FinalAnswer,
    /// The run stops.
    Stop,
    /// The run fails.
    Fail,
}

/// What happens to a result that is larger than what the model may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Oversized {
    /// It is kept whole where the run can read it, and the model gets a part and how to read the rest.
    Spill {
        /// Bytes one run may keep; what does not fit is cut instead.
        max_bytes: NonZeroU64,
    },
    /// It is cut, and a marker says how much is missing.
    Truncate,
}

impl Default for Oversized {
    fn default() -> Self {
        Self::Spill { max_bytes: NonZeroU64::new(64 << 20).unwrap_or(NonZeroU64::MIN) }
    }
}

/// The limits of one run.
///
/// A value that was read passed [`Limits::check`]; one that was put together in code passes it when a
/// harness, an agent or a run is made of it, and nothing changes it afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Limits {
    /// Model replies per run; `None` is unlimited.
    pub max_turns: Option<NonZeroU32>,
    /// What happens at [`Limits::max_turns`].
    pub on_turn_limit: OnTurnLimit,
    /// Tool calls per run, attempts included; a batch that would exceed it is refused whole. `None` is unlimited.
    pub max_tool_calls: Option<NonZeroU32>,
    /// Tool calls in one reply; a larger batch is refused whole.
    pub max_tool_calls_per_turn: NonZeroU32,
    /// Wall-clock time of the whole run; `None` is unlimited.
    #[serde(rename = "max_time_ms", with = "optional_millis")]
    pub max_time: Option<Duration>,
    /// Characters of one tool result that reach the model.
    pub max_result_chars: NonZeroUsize,
    /// What happens to larger results.
    pub oversized: Oversized,
    /// How often a reply that was cut at its token limit is asked to go on, each time with a doubled
    /// budget; 0 ends the run at the first cut.
    pub max_truncation_recoveries: u32,
    /// How often a model that said nothing at all is asked again; 0 takes an empty reply for an answer.
    pub empty_reply_nudges: u32,
    /// How often a model whose answer does not fit the output schema is told so and asked again.
    pub output_repairs: u32,
    /// The most the run may cost; `None` is unlimited.
    pub cost: Option<CostLimit>,
    /// What is done about a model that repeats itself; `None` is nothing.
    pub loop_guard: Option<LoopGuard>,
    /// Whether a name that differs from exactly one tool's only in case, in `-_. ` or in a prefix that
    /// vendors add is taken for it.
    pub repair_names: bool,
    /// Whether a call that repeats an earlier one of the run is answered with the first result; only
    /// for tools that reach nothing outside of the call.
    pub dedupe_calls: bool,
    /// Bytes of the arguments of one call; larger ones are refused before they are parsed.
    pub max_argument_bytes: NonZeroUsize,
    /// How long a host tool may take; component tools have [`CallLimits::timeout`].
    #[serde(rename = "host_tool_timeout_ms", with = "millis")]
    pub host_tool_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: NonZeroU32::new(50),
            on_turn_limit: OnTurnLimit::FinalAnswer,
            max_tool_calls: None,
            max_tool_calls_per_turn: NonZeroU32::new(128).unwrap_or(NonZeroU32::MIN),
            max_time: None,
            max_result_chars: NonZeroUsize::new(12_000).unwrap_or(NonZeroUsize::MIN),
            oversized: Oversized::default(),
            max_truncation_recoveries: 3,
            empty_reply_nudges: 2,
            output_repairs: 0,
            cost: None,
            loop_guard: Some(LoopGuard::default()),
            repair_names: true,
            dedupe_calls: false,
            max_argument_bytes: NonZeroUsize::new(256 << 10).unwrap_or(NonZeroUsize::MIN),
            host_tool_timeout: Duration::from_secs(25),
        }
    }
}

impl Limits {
    /// The strict preset: 20 turns, then stop; 100 tool calls; 16,000 characters per result, then cut;
    /// no recovery, no nudge, no loop guard, and names exactly as they are.
    #[must_use]
    pub fn strict() -> Self {
        Self {
            max_turns: NonZeroU32::new(20),
            on_turn_limit: OnTurnLimit::Stop,
            max_tool_calls: NonZeroU32::new(100),
            max_result_chars: NonZeroUsize::new(16_000).unwrap_or(NonZeroUsize::MIN),
            oversized: Oversized::Truncate,
            max_truncation_recoveries: 0,
            empty_reply_nudges: 0,
            loop_guard: None,
            repair_names: false,
            ..Self::default()
        }
    }

    /// Checks what the types leave open.
    ///
    /// # Errors
    /// Every field with a value that cannot be: a time limit that is zero or longer than [`MAX_TIME`].
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let mut checks = Checks::below("limits");
        let times = [("max_time", self.max_time), ("host_tool_timeout", Some(self.host_tool_timeout))];
        for (field, time) in times {
            checks.expect(time.is_none_or(|time| !time.is_zero() && time <= MAX_TIME), field, || {
                format!(
                    "found {time:?}, expected more than zero and at most {} days",
                    MAX_TIME.as_secs() / 86_400
                )
            });
        }
        checks.finish()
    }
}

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let limits = Self::deserialize(from)?;
        limits.check().map_err(serde::de::Error::custom)?;
        Ok(limits)
    }
}

mod optional_millis {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "the signature serde asks for")]
    pub(super) fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_read_are_checked_and_everything_wrong_is_told() {
        let limits = Limits::strict();
        let text = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&text).unwrap(), limits);
        let check = |text: &str, expected: &[&str]| {
            let error = serde_json::from_str::<Limits>(text).unwrap_err().to_string();
            assert!(expected.iter().all(|part| error.contains(part)), "{text}: {error}");
        };
        check(r#"{"max_tuns": 3}"#, &["max_tuns"]);
        check(
            r#"{"max_time_ms": 0, "host_tool_timeout_ms": 0}"#,
            &["limits.max_time", "limits.host_tool_timeout"],
        );
        check(r#"{"max_time_ms": 99999999999999}"#, &["limits.max_time"]);
        for (field, wrong) in ["max_turns", "max_tool_calls", "max_tool_calls_per_turn", "max_result_chars"]
            .iter()
            .flat_map(|field| ["0", "-1", "true", "1.5"].map(|wrong| (field, wrong)))
        {
            let text = format!(r#"{{"{field}": {wrong}}}"#);
            assert!(serde_json::from_str::<Limits>(&text).is_err(), "{text}");
        }
    }
}

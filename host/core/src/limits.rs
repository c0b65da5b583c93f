//! What caps one call and one run.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::millis;

/// The limits of one call of a component tool.
///
/// The defaults are the profile for code nobody trusts.
/// Every number is checked by the host while the call runs; a guest cannot raise any of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallLimits {
    /// One deadline over admission, queueing, instantiation, the guest, host waits and the result.
    #[serde(rename = "timeout_ms", with = "millis")]
    pub timeout: Duration,
    /// Wasm instructions, in the engine's fuel units; a tight loop burns 10 to 20 of them per nanosecond.
    pub fuel: u64,
    /// Bytes of all linear memories together.
    pub memory_bytes: u64,
    /// How many linear memories may exist.
    pub memories: u32,
    /// How many tables may exist.
    pub tables: u32,
    /// Elements of all tables together.
    pub table_elements: u32,
    /// How many core instances may exist.
    pub instances: u32,
    /// Handles of the component model, guest-defined resources included.
    pub component_handles: u32,
    /// Handles of WASI resources.
    pub wasi_handles: u32,
    /// Bytes the host copies out of the guest per import call and for the result.
    pub hostcall_bytes: u64,
    /// Bytes of the result.
    pub result_bytes: u64,
    /// Bytes of standard output and error that are kept, together; the rest is counted and dropped.
    pub output_bytes: u64,
    /// Log records that are kept; the rest is counted and dropped.
    pub log_records: u32,
    /// Bytes of one log record; longer ones are cut.
    pub log_record_bytes: u32,
    /// Random bytes per request of the guest.
    pub random_bytes: u64,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            fuel: 1_000_000_000_000,
            memory_bytes: 64 << 20,
            memories: 8,
            tables: 16,
            table_elements: 20_000,
            instances: 64,
            component_handles: 4_096,
            wasi_handles: 1_024,
            hostcall_bytes: 4 << 20,
            result_bytes: 1 << 20,
            output_bytes: 256 << 10,
            log_records: 200,
            log_record_bytes: 4 << 10,
            random_bytes: 64 << 10,
        }
    }
}

/// The limits an operator may write down; what is absent stays as it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitOverrides {
    /// Replaces [`CallLimits::timeout`].
    pub timeout: Option<Duration>,
    /// Replaces [`CallLimits::memory_bytes`].
    pub memory_bytes: Option<u64>,
    /// Replaces [`CallLimits::fuel`].
    pub fuel: Option<u64>,
    /// Replaces [`CallLimits::table_elements`].
    pub table_elements: Option<u32>,
    /// Replaces [`CallLimits::result_bytes`].
    pub result_bytes: Option<u64>,
}

impl LimitOverrides {
    /// The limits with every value that is present here replaced.
    #[must_use]
    pub fn apply(self, mut base: CallLimits) -> CallLimits {
        base.timeout = self.timeout.unwrap_or(base.timeout);
        base.memory_bytes = self.memory_bytes.unwrap_or(base.memory_bytes);
        base.fuel = self.fuel.unwrap_or(base.fuel);
        base.table_elements = self.table_elements.unwrap_or(base.table_elements);
        base.result_bytes = self.result_bytes.unwrap_or(base.result_bytes);
        base.hostcall_bytes = base.hostcall_bytes.max(base.result_bytes.saturating_mul(2));
        base
    }

    /// These overrides, with `other` filling what is absent here: the more specific one wins.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            timeout: self.timeout.or(other.timeout),
            memory_bytes: self.memory_bytes.or(other.memory_bytes),
            fuel: self.fuel.or(other.fuel),
            table_elements: self.table_elements.or(other.table_elements),
            result_bytes: self.result_bytes.or(other.result_bytes),
        }
    }
}

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
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
            max_argument_bytes: NonZeroUsize::new(256 << 10).unwrap_or(NonZeroUsize::MIN),
            host_tool_timeout: Duration::from_secs(25),
        }
    }
}

impl Limits {
    /// The strict preset: 20 turns, then stop; 100 tool calls; 16,000 characters per result.
    #[must_use]
    pub fn strict() -> Self {
        Self {
            max_turns: NonZeroU32::new(20),
            on_turn_limit: OnTurnLimit::Stop,
            max_tool_calls: NonZeroU32::new(100),
            max_result_chars: NonZeroUsize::new(16_000).unwrap_or(NonZeroUsize::MIN),
            oversized: Oversized::Truncate,
            ..Self::default()
        }
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
    fn limits_round_trip_and_refuse_unknown_keys() {
        let limits = Limits::strict();
        let text = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&text).unwrap(), limits);
        assert!(serde_json::from_str::<Limits>(r#"{"max_tuns": 3}"#).is_err());
        assert!(serde_json::from_str::<Limits>(r#"{"max_turns": 0}"#).is_err());
        assert!(serde_json::from_str::<CallLimits>(r#"{"fule": 3}"#).is_err());
    }

    #[test]
    fn the_more_specific_override_wins() {
        let tool = LimitOverrides { fuel: Some(1), ..LimitOverrides::default() };
        let component = LimitOverrides { fuel: Some(2), memory_bytes: Some(3), ..LimitOverrides::default() };
        let limits = tool.or(component).apply(CallLimits::default());
        assert_eq!((limits.fuel, limits.memory_bytes), (1, 3));
    }
}

//! What caps one call and one run.

mod run;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::run::{Limits, MAX_TIME, OnTurnLimit, Oversized};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_call_refuse_unknown_keys() {
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

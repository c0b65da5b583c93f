//! What caps one call and one run.

mod run;
mod written;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Serialize;

pub use self::run::{
    Limits, MAX_CALLS_PER_TURN, MAX_KEPT_BYTES, MAX_RECOVERIES, MAX_TEXT, MAX_TIME, OnTurnLimit, Oversized,
};
use crate::config::{Checks, ConfigErrors};
use crate::units::limit_millis;

/// Least and most memory a call can have: one page of WebAssembly, and all that 32 bits can name.
pub const CALL_MEMORY_BYTES: RangeInclusive<u64> = 64 << 10..=4 << 30;

/// Most bytes of the result of a call; the host holds them whole.
pub const MAX_RESULT_BYTES: u64 = 1 << 30;

/// The limits of one call of a component tool.
///
/// The defaults are the profile for code nobody trusts.
/// Every number is checked by the host while the call runs; a guest cannot raise any of them.
/// A value that was read passed [`CallLimits::check`]; one that was put together in code passes it when a
/// tool is offered with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallLimits {
    /// One deadline over admission, queueing, instantiation, the guest, host waits and the result.
    #[serde(rename = "timeout_ms", with = "limit_millis")]
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

impl CallLimits {
    /// Checks what the types leave open.
    ///
    /// # Errors
    /// Every field with a value that cannot be: a time that is zero or longer than [`MAX_TIME`], memory
    /// outside of [`CALL_MEMORY_BYTES`], a result that is larger than [`MAX_RESULT_BYTES`], and a zero where
    /// no component could run. Nothing of what a guest writes or logs may be kept, and no randomness given.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let mut checks = Checks::below("limits");
        checks.time_limit("timeout", self.timeout, MAX_TIME);
        checks.within("fuel", self.fuel, &(1..=u64::MAX), "units");
        checks.within("memory_bytes", self.memory_bytes, &CALL_MEMORY_BYTES, "bytes");
        let counts = [
            ("memories", self.memories),
            ("tables", self.tables),
            ("table_elements", self.table_elements),
            ("instances", self.instances),
            ("component_handles", self.component_handles),
            ("wasi_handles", self.wasi_handles),
        ];
        for (field, count) in counts {
            checks.within(field, count, &(1..=u32::MAX), "of them");
        }
        checks.within("hostcall_bytes", self.hostcall_bytes, &(1..=2 * MAX_RESULT_BYTES), "bytes");
        checks.within("result_bytes", self.result_bytes, &(1..=MAX_RESULT_BYTES), "bytes");
        checks.within("output_bytes", self.output_bytes, &(0..=MAX_RESULT_BYTES), "bytes");
        checks.within("random_bytes", self.random_bytes, &(0..=MAX_RESULT_BYTES), "bytes");
        checks.finish()
    }
}

/// The limits an operator may write down; what is absent stays as it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
mod tests;

//! Limits as they were written down, before they are checked: reading them is the only way to get one unchecked, and
//! it leads through the check.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::{CallLimits, Limits, OnTurnLimit, Oversized};
use crate::cost::{self, CostLimit};
use crate::loop_guard::{self, LoopGuard};
use crate::units::limit_millis;

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let limits = WrittenLimits::deserialize(from)?;
        limits.check().map_err(serde::de::Error::custom)?;
        Ok(limits)
    }
}

impl<'de> Deserialize<'de> for CallLimits {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let limits = WrittenCallLimits::deserialize(from)?;
        limits.check().map_err(serde::de::Error::custom)?;
        Ok(limits)
    }
}

/// The fields of [`Limits`], each of which may be absent.
#[derive(Deserialize)]
#[serde(remote = "Limits", deny_unknown_fields, default = "Limits::default")]
struct WrittenLimits {
    max_turns: Option<NonZeroU32>,
    on_turn_limit: OnTurnLimit,
    max_tool_calls: Option<NonZeroU32>,
    max_tool_calls_per_turn: NonZeroU32,
    #[serde(rename = "max_time_ms", deserialize_with = "read_time")]
    max_time: Option<Duration>,
    max_result_chars: NonZeroUsize,
    oversized: Oversized,
    max_truncation_recoveries: u32,
    empty_reply_nudges: u32,
    output_repairs: u32,
    // Checked with everything else, so that everything that is wrong is told together.
    #[serde(deserialize_with = "cost::read_unchecked")]
    cost: Option<CostLimit>,
    #[serde(deserialize_with = "loop_guard::read_unchecked")]
    loop_guard: Option<LoopGuard>,
    repair_names: bool,
    dedupe_calls: bool,
    max_argument_bytes: NonZeroUsize,
    #[serde(rename = "host_tool_timeout_ms", with = "limit_millis")]
    host_tool_timeout: Duration,
}

/// The fields of [`CallLimits`], each of which may be absent.
#[derive(Deserialize)]
#[serde(remote = "CallLimits", deny_unknown_fields, default = "CallLimits::default")]
struct WrittenCallLimits {
    #[serde(rename = "timeout_ms", with = "limit_millis")]
    timeout: Duration,
    fuel: u64,
    memory_bytes: u64,
    memories: u32,
    tables: u32,
    table_elements: u32,
    instances: u32,
    component_handles: u32,
    wasi_handles: u32,
    hostcall_bytes: u64,
    result_bytes: u64,
    output_bytes: u64,
    log_records: u32,
    log_record_bytes: u32,
    random_bytes: u64,
}

fn read_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
}

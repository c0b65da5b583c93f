//! The limits of one run.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use crate::config::{Checks, ConfigErrors};
use crate::cost::CostLimit;
use crate::loop_guard::LoopGuard;
use crate::units::limit_millis;

/// Longest time limit that can be set; a longer one is a mistake.
pub const MAX_TIME: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How often one kind of recovery may be tried at most; more is a mistake.
pub const MAX_RECOVERIES: u32 = 100;

/// Most tool calls of one reply that can be allowed.
pub const MAX_CALLS_PER_TURN: u32 = 65_536;

/// Most characters of a tool result, and most bytes of arguments, that can be allowed.
pub const MAX_TEXT: usize = 64 << 20;

/// Most bytes that one run can be allowed to keep aside.
pub const MAX_KEPT_BYTES: u64 = 1 << 40;

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
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    #[serde(rename = "max_time_ms", serialize_with = "write_time")]
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
    /// Whether a call that repeats an earlier one of the run, with the same tool and arguments, is answered
    /// with the first good result; only for tools that reach nothing outside of the call and whose author
    /// declares them read-only and idempotent. It counts as a call. A run that stood still begins without
    /// earlier results.
    pub dedupe_calls: bool,
    /// Bytes of the arguments of one call; larger ones are refused before they are parsed.
    pub max_argument_bytes: NonZeroUsize,
    /// How long a host tool may take; component tools have [`CallLimits::timeout`].
    #[serde(rename = "host_tool_timeout_ms", with = "limit_millis")]
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
    /// Every field with a value that cannot be: a time limit that is zero or longer than [`MAX_TIME`], and
    /// counts and sizes above [`MAX_CALLS_PER_TURN`], [`MAX_RECOVERIES`], [`MAX_TEXT`] or [`MAX_KEPT_BYTES`].
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let mut checks = Checks::below("limits");
        let calls = self.max_tool_calls_per_turn.get();
        checks.within("max_tool_calls_per_turn", calls, &(1..=MAX_CALLS_PER_TURN), "calls");
        if let Some(time) = self.max_time {
            checks.time_limit("max_time", time, MAX_TIME);
        }
        checks.within("max_result_chars", self.max_result_chars.get(), &(1..=MAX_TEXT), "characters");
        match self.oversized {
            Oversized::Truncate => {}
            Oversized::Spill { max_bytes } => {
                checks.within("oversized.max_bytes", max_bytes.get(), &(1..=MAX_KEPT_BYTES), "bytes");
            }
        }
        let tries = [
            ("max_truncation_recoveries", self.max_truncation_recoveries),
            ("empty_reply_nudges", self.empty_reply_nudges),
            ("output_repairs", self.output_repairs),
        ];
        for (field, tries) in tries {
            checks.within(field, tries, &(0..=MAX_RECOVERIES), "times");
        }
        if let Some(cost) = self.cost {
            checks.also(cost.check("limits.cost"));
        }
        if let Some(guard) = self.loop_guard {
            checks.also(guard.check("limits.loop_guard"));
        }
        checks.within("max_argument_bytes", self.max_argument_bytes.get(), &(1..=MAX_TEXT), "bytes");
        checks.time_limit("host_tool_timeout", self.host_tool_timeout, MAX_TIME);
        checks.finish()
    }
}

/// Writes the time limit as [`limit_millis`] does, or none.
#[expect(clippy::ref_option, reason = "the signature serde asks for")]
fn write_time<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => limit_millis::serialize(time, to),
        None => to.serialize_none(),
    }
}

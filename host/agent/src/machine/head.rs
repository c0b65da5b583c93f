//! The small part of a run that changes, and what one transition adds.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::event::{EventKind, Recovery};
use hotcell_core::message::Message;
use hotcell_core::model::TokenUsage;
use hotcell_core::units::millis;
use serde::{Deserialize, Serialize};

use super::entry::ToolEntry;
use super::guard::Laps;
use crate::status::{RunErrorInfo, RunStatus, StopReason};

/// The version of the stored form; a run of another version is refused, never guessed at.
pub const MACHINE_VERSION: u32 = 1;

/// Where the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// A reply is awaited.
    Model,
    /// A reply without tool calls is awaited, because the turns are used up.
    FinalAnswer,
    /// The calls of a batch are awaited.
    Tools,
    /// Nothing is awaited.
    Ended,
}

/// What ends a run from outside, or will when the calls that run have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// The run's time is up.
    Deadline,
    /// The caller gave up.
    Cancelled,
    /// Something the run cannot do without failed.
    Failed(RunErrorInfo),
}

impl Interrupt {
    /// A later interrupt of a higher rank replaces an earlier one.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Deadline => 1,
            Self::Cancelled => 2,
            Self::Failed(_) => 3,
        }
    }
}

/// The part of a run's state that changes with each transition; its size does not grow with the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the stored form.
    pub version: u32,
    /// Where the run is.
    pub phase: RunPhase,
    /// How it stands.
    pub status: RunStatus,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// The error it failed with.
    pub error: Option<RunErrorInfo>,
    /// What will end it when the calls that run have ended.
    pub interrupt: Option<Interrupt>,
    /// The present turn, from 0.
    pub turn: u32,
    /// Replies taken.
    pub turns: u32,
    /// Tool calls counted against the budget.
    pub tool_calls: u32,
    /// Messages in the transcript.
    pub messages: usize,
    /// The place of the newest reply of this run in the transcript.
    pub last_reply: Option<usize>,
    /// The places of the replies that the newest one goes on from: pieces of one answer that was cut
    /// or paused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<usize>,
    /// Whether the newest reply was checked against the output schema and fits.
    pub output_fits: bool,
    /// Entries of the batch whose answers are part of the transcript.
    pub answered: usize,
    /// Entries of the batch that were handed to a tool and have no outcome yet.
    pub running: usize,
    /// Tokens used.
    pub tokens: TokenUsage,
    /// About how many tokens the next prompt has.
    pub prompt_tokens: u64,
    /// Most tokens of the next reply, once that differs from what the run began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_budget: Option<u32>,
    /// Most tokens of the next reply that the cost limit leaves room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affordable: Option<u32>,
    /// How often the run went on where it could have ended.
    #[serde(default)]
    pub recoveries: Recoveries,
    /// What the loop guard remembers.
    #[serde(default)]
    pub laps: Laps,
    /// The latest time that was applied, since the run began; whole milliseconds.
    #[serde(rename = "elapsed_ms", with = "millis")]
    pub elapsed: Duration,
}

/// How often a run went on, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recoveries {
    /// Replies that were cut, text and calls together, in the whole run.
    pub truncations: u32,
    /// Replies that said nothing, one after another.
    pub empty: u32,
    /// Turns that the provider paused, one after another.
    pub pauses: u32,
    /// Answers that did not fit the output schema.
    pub repairs: u32,
    /// Replies whose calls could not be read, one after another.
    pub unreadable: u32,
}

/// Something a transition did that leaves no entry and is worth telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// The run goes on where it could have ended.
    Recovery {
        /// Why.
        reason: Recovery,
        /// How often for this reason, from 1.
        count: u32,
        /// Most tokens of the next reply, when that changed.
        next_budget: Option<u32>,
    },
    /// The model repeats itself and was told so.
    Repetition {
        /// The calls of one lap.
        period: u32,
        /// How many laps were equal.
        laps: u32,
    },
}

impl From<Notice> for EventKind {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Recovery { reason, count, next_budget } => Self::Recovery { reason, count, next_budget },
            Notice::Repetition { period, laps } => Self::Repetition { period, laps },
        }
    }
}

/// What a transition adds, while it is under way.
#[derive(Debug, Default)]
pub(super) struct Added {
    pub(super) entries: Vec<Entry>,
    pub(super) notices: Vec<Notice>,
}

impl Added {
    /// Notes that the run goes on where it could have ended.
    pub(super) fn recovered(&mut self, reason: Recovery, count: u32) {
        self.notices.push(Notice::Recovery { reason, count, next_budget: None });
    }
}

/// One thing a transition added. A store appends entries and replaces the head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// A message at the end of the transcript.
    Message {
        /// Its place in the transcript.
        index: usize,
        /// The message.
        message: Arc<Message>,
    },
    /// A tool entry in its new state; it replaces the one with the same id.
    Tool {
        /// The entry.
        tool: Arc<ToolEntry>,
    },
    /// The answer of a call at the end of the transcript; exactly one for each call, in call order.
    Answer {
        /// Its place in the transcript.
        index: usize,
        /// The message.
        message: Arc<Message>,
        /// The entry in its last state; it replaces the one with the same id.
        tool: Arc<ToolEntry>,
    },
}

/// What one transition did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What was added, in order; empty when the outcome had been applied before or came too late.
    pub entries: Vec<Entry>,
    /// What is worth telling beside them; a store need not keep it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// The state after it.
    pub head: Head,
}

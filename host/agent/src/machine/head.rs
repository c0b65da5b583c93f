//! The small part of a run that changes, and what one transition adds.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::message::Message;
use hotcell_core::model::TokenUsage;
use hotcell_core::units::millis;
use serde::{Deserialize, Serialize};

use super::entry::ToolEntry;
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
    /// Whether the newest reply was checked against the output schema and fits.
    pub output_fits: bool,
    /// Entries of the batch whose answers are part of the transcript.
    pub answered: usize,
    /// Entries of the batch that were handed to a tool and have no outcome yet.
    pub running: usize,
    /// Tokens used.
    pub tokens: TokenUsage,
    /// The latest time that was applied, since the run began; whole milliseconds.
    #[serde(rename = "elapsed_ms", with = "millis")]
    pub elapsed: Duration,
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
    /// The state after it.
    pub head: Head,
}

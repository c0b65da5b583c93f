//! How a run ended, and that as a `Result`.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::call::CallReport;
use hotcell_core::event::RunEvent;
use hotcell_core::ids::{CallId, RunId};
use hotcell_core::message::Transcript;
use hotcell_core::model::TokenUsage;
use hotcell_core::units::millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::machine::{EntryStatus, SkipReason};
use crate::status::{RunErrorInfo, RunStatus, StopReason};

/// Everything about a run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The run.
    pub run: RunId,
    /// How it stands.
    pub status: RunStatus,
    /// Why it ended.
    pub stop: StopReason,
    /// The error it failed with.
    pub error: Option<RunErrorInfo>,
    /// The text of the last reply, whatever the status.
    pub output: Option<String>,
    /// The answer as JSON, when there was an output schema and the answer fits it.
    pub data: Option<Value>,
    /// The whole conversation, the history's part included.
    pub transcript: Transcript,
    /// Replies of the model.
    pub turns: u32,
    /// Tool calls counted against the budget.
    pub tool_calls: u32,
    /// How long the run took.
    #[serde(rename = "elapsed_ms", with = "millis")]
    pub elapsed: Duration,
    /// Tokens used.
    pub tokens: TokenUsage,
    /// Every event, in order.
    pub events: Vec<RunEvent>,
    /// Every tool call, in order.
    pub calls: Vec<CallRecord>,
}

/// One tool call of a run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The id of the call.
    pub call: CallId,
    /// The turn, from 0.
    pub turn: u32,
    /// The name as the model wrote it.
    pub tool: String,
    /// How far it came.
    pub status: EntryStatus,
    /// Why it was never handed to the tool.
    pub skipped: Option<SkipReason>,
    /// How it ended; without content when the content was longer than what the model read.
    pub report: Option<Arc<CallReport>>,
    /// What went wrong while its result was shaped: it was cut because it could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Arc<str>>,
}

impl RunResult {
    /// One flat label for the end of the run.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        label(self.status, &self.stop)
    }

    /// Whether the model gave a whole answer of its own accord.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.outcome() == "completed"
    }

    /// The result, or an error that carries it when the run did not end with a whole answer.
    ///
    /// # Errors
    /// One variant of [`RunError`] for each way a run can end badly.
    pub fn into_result(self) -> Result<Self, RunError> {
        let error = match self.outcome() {
            "completed" => return Ok(self),
            "truncated" => RunError::Truncated,
            "refused" => RunError::Refused,
            "limited" => RunError::LimitReached,
            "invalid_output" => RunError::InvalidOutput,
            "cancelled" => RunError::Cancelled,
            "max_steps" | "max_tool_calls" | "timeout" => RunError::Stopped,
            _ => {
                let result = Box::new(self);
                let info = || RunErrorInfo::new(crate::status::ErrorKind::Internal, "the run has not ended");
                let source = result.error.clone().unwrap_or_else(info);
                return Err(RunError::Failed { source, result });
            }
        };
        Err(error(Box::new(self)))
    }
}

/// The flat label of a run: the words users of older harnesses know.
pub(super) fn label(status: RunStatus, stop: &StopReason) -> &'static str {
    match (status, stop) {
        (RunStatus::Completed, StopReason::EndTurn | StopReason::StopSequence) => "completed",
        (RunStatus::Completed, StopReason::Refusal | StopReason::Safety) => "refused",
        (RunStatus::Completed, StopReason::MaxTurns) => "limited",
        (RunStatus::Completed, StopReason::InvalidOutput) => "invalid_output",
        // Cut, paused, or ended for a reason nobody knows: the answer is not whole.
        (RunStatus::Completed, _) => "truncated",
        (RunStatus::Stopped, StopReason::MaxToolCalls) => "max_tool_calls",
        (RunStatus::Stopped, StopReason::Deadline) => "timeout",
        (RunStatus::Stopped, StopReason::LoopGuard) => "loop_guard",
        (RunStatus::Stopped, _) => "max_steps",
        (RunStatus::AwaitingInput, _) => "awaiting_input",
        (RunStatus::Paused, _) => "paused",
        (RunStatus::Cancelled, _) => "cancelled",
        (RunStatus::Failed, _) => "failed",
        (RunStatus::Running, _) => "running",
    }
}

/// A run that did not end with a whole answer. Every variant carries the whole result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The answer was cut at a token limit or is not whole for another reason of the provider.
    #[error("the answer is not whole: the last reply ended with {:?}", .0.stop)]
    Truncated(Box<RunResult>),
    /// The model declined, or a filter of the provider stopped it.
    #[error("the model gave no answer: it declined or was stopped by a filter")]
    Refused(Box<RunResult>),
    /// The turns were used up; the answer is an account of what was done.
    #[error("the turn limit was reached after {} replies; the output is a final account", .0.turns)]
    LimitReached(Box<RunResult>),
    /// The answer does not fit the output schema.
    #[error("the answer is not JSON that fits the output schema")]
    InvalidOutput(Box<RunResult>),
    /// A bound ended the run before there was an answer.
    #[error("the run was stopped by a limit ({}) after {} replies", .0.outcome(), .0.turns)]
    Stopped(Box<RunResult>),
    /// The caller gave up.
    #[error("the run was cancelled")]
    Cancelled(Box<RunResult>),
    /// An error ended the run.
    #[error("the run failed")]
    Failed {
        /// The error.
        source: RunErrorInfo,
        /// The result.
        result: Box<RunResult>,
    },
}

impl RunError {
    /// The whole result.
    #[must_use]
    pub fn result(&self) -> &RunResult {
        match self {
            Self::Truncated(result)
            | Self::Refused(result)
            | Self::LimitReached(result)
            | Self::InvalidOutput(result)
            | Self::Stopped(result)
            | Self::Cancelled(result)
            | Self::Failed { result, .. } => result,
        }
    }

    /// The whole result, taken out.
    #[must_use]
    pub fn into_run_result(self) -> RunResult {
        match self {
            Self::Truncated(result)
            | Self::Refused(result)
            | Self::LimitReached(result)
            | Self::InvalidOutput(result)
            | Self::Stopped(result)
            | Self::Cancelled(result)
            | Self::Failed { result, .. } => *result,
        }
    }
}

//! How a run ended, and that as a `Result`.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::call::CallReport;
use hotcell_core::cost::Dollars;
use hotcell_core::event::RunEvent;
use hotcell_core::ids::{CallId, RunId};
use hotcell_core::message::Transcript;
use hotcell_core::model::TokenUsage;
use hotcell_core::units::millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::resume::{PendingCall, SuspendedRun};
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
    /// What the run cost, when its limits have prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Dollars>,
    /// Every event, in order.
    pub events: Vec<RunEvent>,
    /// What failed beside the run and did not end it, such as a hook; at most 100, and how many more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RunWarning>,
    /// Every tool call, in order.
    pub calls: Vec<CallRecord>,
    /// What somebody has to decide before the run can go on, in call order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingCall>,
    /// The run, when it stands still; [`Harness::resume`](super::Harness::resume) goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<Box<SuspendedRun>>,
}

/// Something that failed beside a run and did not end it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunWarning {
    /// What failed, such as the name of a hook.
    pub source: String,
    /// The event at which it did.
    pub sequence: u64,
    /// What it says, capped and escaped.
    pub message: String,
}

/// One tool call of a run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The id of the call.
    pub call: CallId,
    /// The turn, from 0.
    pub turn: u32,
    /// The tool; the name as the model wrote it, where that means none or the call was never looked at.
    pub tool: String,
    /// How far it came.
    pub status: EntryStatus,
    /// Why it was never handed to the tool.
    pub skipped: Option<SkipReason>,
    /// How it ended; without content when the content was longer than what the model read.
    pub report: Option<Arc<CallReport>>,
    /// Whether it was answered with the result of an earlier call like it, so that the tool did not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
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

    /// Whether the answer was cut or is not whole for another reason of the provider.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.outcome() == "truncated"
    }

    /// Whether the model declined, or a filter stopped it.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.outcome() == "refused"
    }

    /// Whether the answer is an account that was asked for when the turns were used up.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.outcome() == "limited"
    }

    /// Whether the answer does not fit the output schema.
    #[must_use]
    pub fn is_invalid_output(&self) -> bool {
        self.outcome() == "invalid_output"
    }

    /// Whether a bound ended the run before there was an answer.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.status == RunStatus::Stopped
    }

    /// Whether the caller gave up.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.status == RunStatus::Cancelled
    }

    /// Whether the run stands still and can be resumed.
    #[must_use]
    pub fn needs_input(&self) -> bool {
        matches!(self.status, RunStatus::AwaitingInput | RunStatus::Paused)
    }

    /// Whether an error ended the run.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.status == RunStatus::Failed
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
            "max_steps" | "max_tool_calls" | "timeout" | "loop_guard" => RunError::Stopped,
            "awaiting_input" | "paused" => RunError::AwaitingInput,
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
    match status {
        RunStatus::Completed => completed(stop),
        RunStatus::Stopped => stopped(stop),
        RunStatus::AwaitingInput => "awaiting_input",
        RunStatus::Paused => "paused",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Failed => "failed",
        RunStatus::Running => "running",
    }
}

/// The model had the last word.
fn completed(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence => "completed",
        StopReason::Refusal | StopReason::Safety => "refused",
        StopReason::MaxTurns => "limited",
        StopReason::InvalidOutput => "invalid_output",
        // Cut, paused, or ended for a reason nobody knows: the answer is not whole.
        StopReason::MaxTokens | StopReason::PauseTurn | StopReason::Other(_) => "truncated",
        // No run completes for these reasons; one that was put together so is not a whole answer.
        StopReason::MaxToolCalls
        | StopReason::Deadline
        | StopReason::Cancelled
        | StopReason::CostLimit
        | StopReason::LoopGuard
        | StopReason::Paused
        | StopReason::Approval
        | StopReason::UncertainOutcome
        | StopReason::Error => "truncated",
    }
}

/// A bound ended the run first.
fn stopped(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::MaxToolCalls => "max_tool_calls",
        StopReason::Deadline => "timeout",
        StopReason::LoopGuard => "loop_guard",
        StopReason::MaxTurns => "max_steps",
        // No run is stopped for these reasons; the word says that a bound ended it.
        StopReason::EndTurn
        | StopReason::StopSequence
        | StopReason::MaxTokens
        | StopReason::Refusal
        | StopReason::Safety
        | StopReason::PauseTurn
        | StopReason::Other(_)
        | StopReason::Cancelled
        | StopReason::InvalidOutput
        | StopReason::CostLimit
        | StopReason::Paused
        | StopReason::Approval
        | StopReason::UncertainOutcome
        | StopReason::Error => "max_steps",
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
    /// The run stands still until somebody decides, or resumes it.
    #[error("the run stands still ({}) and waits for {} decisions", .0.outcome(), .0.pending.len())]
    AwaitingInput(Box<RunResult>),
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
            | Self::AwaitingInput(result)
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
            | Self::AwaitingInput(result)
            | Self::Cancelled(result)
            | Self::Failed { result, .. } => *result,
        }
    }
}

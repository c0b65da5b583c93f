//! How a run stands and why it ended.

use std::fmt;

use hotcell_core::model::{ModelError, ReplyStop};
use serde::{Deserialize, Serialize};

/// The label of a run's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// Something is outstanding.
    Running,
    /// The model gave the last word.
    Completed,
    /// A bound ended the run first; the transcript is whole and can be continued.
    Stopped,
    /// Somebody has to decide; the run can be resumed.
    AwaitingInput,
    /// The run was told to stand still; it can be resumed.
    Paused,
    /// The caller gave up.
    Cancelled,
    /// An error ended the run.
    Failed,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model had nothing more to say.
    EndTurn,
    /// A stop sequence was met.
    StopSequence,
    /// The last reply was cut at its token limit.
    MaxTokens,
    /// The model declined.
    Refusal,
    /// A filter of the provider stopped the last reply.
    Safety,
    /// The provider paused its turn; the answer is not whole.
    PauseTurn,
    /// The provider gave another reason, in its own words.
    Other(String),
    /// The turns were used up.
    MaxTurns,
    /// The next batch would have exceeded the tool-call budget.
    MaxToolCalls,
    /// The run's time was up.
    Deadline,
    /// The caller gave up.
    Cancelled,
    /// The answer is not what the output schema asks for.
    InvalidOutput,
    /// The next model call could cost more than is left.
    CostLimit,
    /// The model repeated itself and was told so.
    LoopGuard,
    /// The run was told to stand still.
    Paused,
    /// Somebody has to approve a call.
    Approval,
    /// Somebody has to say what became of a call that was under way.
    UncertainOutcome,
    /// An error; see [`RunErrorInfo`].
    Error,
}

impl StopReason {
    /// The reason a reply without tool calls ends a run with.
    ///
    /// A reply that claims `tool_use` and has no call is an answer like any other.
    #[must_use]
    pub(crate) fn of_reply(stop: &ReplyStop) -> Self {
        match stop {
            ReplyStop::EndTurn | ReplyStop::ToolUse => Self::EndTurn,
            ReplyStop::StopSequence => Self::StopSequence,
            ReplyStop::MaxTokens => Self::MaxTokens,
            ReplyStop::Refusal => Self::Refusal,
            ReplyStop::Safety => Self::Safety,
            ReplyStop::PauseTurn => Self::PauseTurn,
            ReplyStop::Other(word) => Self::Other(word.clone()),
            // The enum of the core may grow; an unknown reason is never taken for a whole answer.
            _ => Self::Other("unknown".to_owned()),
        }
    }

    /// The reason a run that failed with this kind of error ends with.
    #[must_use]
    pub(crate) const fn of_error(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::MaxTurns => Self::MaxTurns,
            ErrorKind::CostLimit => Self::CostLimit,
            ErrorKind::Provider
            | ErrorKind::RateLimited
            | ErrorKind::ContextOverflow
            | ErrorKind::MalformedReply
            | ErrorKind::Approval
            | ErrorKind::EventSink
            | ErrorKind::Middleware
            | ErrorKind::Storage
            | ErrorKind::RecoveryExhausted
            | ErrorKind::Internal => Self::Error,
        }
    }
}

/// The kinds of error a run can fail with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The model could not be asked, or its provider failed.
    Provider,
    /// The provider refused because of too many requests.
    RateLimited,
    /// The reply of the model breaks the rules for replies.
    MalformedReply,
    /// An approver failed, so nothing more was run.
    Approval,
    /// An event could not be delivered.
    EventSink,
    /// The prompt is longer than the model can take.
    ContextOverflow,
    /// A middleware failed or broke its rules.
    Middleware,
    /// What has to be kept could not be.
    Storage,
    /// The turns were used up and the limits say that this is a failure.
    MaxTurns,
    /// The next model call could cost more than is left.
    CostLimit,
    /// What a run does to go on was tried as often as it may be.
    RecoveryExhausted,
    /// A fault of the host.
    Internal,
}

impl ErrorKind {
    /// The stable text of the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::RateLimited => "rate_limited",
            Self::MalformedReply => "malformed_reply",
            Self::Approval => "approval",
            Self::EventSink => "event_sink",
            Self::ContextOverflow => "context_overflow",
            Self::Middleware => "middleware",
            Self::Storage => "storage",
            Self::MaxTurns => "max_turns",
            Self::CostLimit => "cost_limit",
            Self::RecoveryExhausted => "recovery_exhausted",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error a run failed with, in a form that can be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunErrorInfo {
    /// The kind of error.
    pub kind: ErrorKind,
    /// What happened, for a person.
    pub message: String,
    /// The error of the model, when that was the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<ModelError>,
}

impl RunErrorInfo {
    /// An error without a cause of its own.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cause: None }
    }
}

impl From<ModelError> for RunErrorInfo {
    fn from(error: ModelError) -> Self {
        let kind = match &error {
            ModelError::Provider { status: Some(429), .. } => ErrorKind::RateLimited,
            ModelError::Malformed { .. } | ModelError::UnreadableCall { .. } => ErrorKind::MalformedReply,
            // Everything else, also what the core may add later, is a failure to get a reply.
            _ => ErrorKind::Provider,
        };
        Self { kind, message: error.to_string(), cause: Some(error) }
    }
}

impl fmt::Display for RunErrorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl std::error::Error for RunErrorInfo {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

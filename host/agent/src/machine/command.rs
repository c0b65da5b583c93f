//! What a run waits for, and what may come back.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hotcell_core::approval::{Approval, ApprovalRequest, ApproverError, Decision};
use hotcell_core::call::CallReport;
use hotcell_core::ids::{CallId, IdError, IdempotencyKey, RunId};
use hotcell_core::message::ToolCall;
use hotcell_core::model::{ModelError, ModelReply, ToolChoice};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::entry::ToolEntry;
use crate::answer::Answer;

/// The stable id of a command, `run:turn:n`.
///
/// Within a turn, 0 is the model call, 1 to *len* are the calls of the batch in the model's order,
/// and *len* + 1 to 2 · *len* are the approvals of these calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommandId {
    /// The run.
    pub run: RunId,
    /// The turn, from 0.
    pub turn: u32,
    /// The place in the turn.
    pub n: u32,
}

impl CommandId {
    /// The id as the id of a call.
    ///
    /// # Errors
    /// A run id longer than [`MAX_RUN_ID_BYTES`](super::MAX_RUN_ID_BYTES) can make the text too long.
    pub fn to_call_id(&self) -> Result<CallId, IdError> {
        CallId::parse(self.to_string())
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.run, self.turn, self.n)
    }
}

/// Says why a text is not the id of a command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a command id; expected `run:turn:n`, such as `run-1:0:2`")]
pub struct CommandIdError(String);

impl FromStr for CommandId {
    type Err = CommandIdError;

    fn from_str(text: &str) -> Result<Self, CommandIdError> {
        let parts = || {
            // From the right, because a run id may itself hold colons.
            let (rest, n) = text.rsplit_once(':')?;
            let (run, turn) = rest.rsplit_once(':')?;
            Some(Self { run: RunId::parse(run).ok()?, turn: turn.parse().ok()?, n: n.parse().ok()? })
        };
        parts().ok_or_else(|| {
            CommandIdError(hotcell_core::text::escape_control(&hotcell_core::text::cap_chars(text, 300)))
        })
    }
}

impl TryFrom<String> for CommandId {
    type Error = CommandIdError;
    fn try_from(text: String) -> Result<Self, CommandIdError> {
        text.parse()
    }
}

impl From<CommandId> for String {
    fn from(id: CommandId) -> Self {
        id.to_string()
    }
}

/// Something the run waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Ask the model for one reply over the whole transcript.
    CallModel {
        /// The id the reply is applied under.
        id: CommandId,
        /// Whether the model may call tools; they are declared either way.
        tool_choice: ToolChoice,
        /// Most tokens of the reply; `None` leaves it to the provider.
        max_output_tokens: Option<u32>,
    },
    /// Take one call to the door.
    CallTool {
        /// The id the outcome is applied under; also the id of the call.
        id: CommandId,
        /// The call as the model wrote it, with the arguments of an approver who changed them.
        call: Arc<ToolCall>,
        /// The same for every repetition of the call.
        idempotency_key: IdempotencyKey,
        /// What an approver agreed to, when one was asked.
        approval: Option<Approval>,
        /// Whether the call was handed to the tool already and its outcome is awaited.
        ///
        /// A driver that finds this after a crash does not know whether the tool ran;
        /// it applies [`CommandOutcome::Lost`] instead of running the tool again.
        started: bool,
    },
    /// Let middlewares change what a tool returned, and shape it for the model.
    ///
    /// A driver that finds this after a crash does it again; the tool has run and is not run again.
    FinishCall {
        /// The id the outcome is applied under.
        id: CommandId,
        /// The name the call was run under.
        tool: String,
        /// What the tool returned.
        report: Arc<CallReport>,
    },
    /// Ask whoever approves.
    AskApproval {
        /// The id the decision is applied under.
        id: CommandId,
        /// What is shown.
        request: Arc<ApprovalRequest>,
        /// Whether an approver left it for later; nobody is asked again until the run is resumed.
        suspended: bool,
    },
}

impl Command {
    /// The id its outcome is applied under.
    #[must_use]
    pub const fn id(&self) -> &CommandId {
        match self {
            Self::CallModel { id, .. }
            | Self::CallTool { id, .. }
            | Self::FinishCall { id, .. }
            | Self::AskApproval { id, .. } => id,
        }
    }
}

impl Command {
    /// What a call waits for whose tool has returned; nothing when it is closed.
    pub(super) fn finish(tool: &ToolEntry) -> Option<Self> {
        if tool.is_closed() {
            return None;
        }
        Some(Self::FinishCall {
            id: tool.id.clone(),
            tool: tool.call_to_run().name.clone(),
            report: Arc::clone(tool.raw.as_ref()?),
        })
    }
}

/// A call that waits for an approver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// What the approver is shown.
    pub request: Arc<ApprovalRequest>,
    /// What the approval will be bound to.
    pub approval: Approval,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    /// The model replied, or could not be asked.
    Model(Result<ModelReply, ModelError>),
    /// Middlewares had the call before them, and left it as this; a call has this once, before the door.
    Rewritten(ToolCall),
    /// The tool returned this, and middlewares have not had it before them yet.
    Raw(Arc<CallReport>),
    /// The door answered the call.
    Tool(Answer),
    /// The door wants an approval first.
    NeedsApproval(PendingApproval),
    /// The approver decided, or failed.
    Approval(Result<Decision, ApproverError>),
    /// The call was marked as started and then not handed to the tool.
    Withdrawn,
    /// The call was handed to the tool, and nobody will ever know how it ended.
    Lost,
}

impl CommandOutcome {
    /// What kind of outcome it is, for error messages.
    #[must_use]
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Model(_) => "a model reply",
            Self::Rewritten(_) => "a rewritten call",
            Self::Raw(_) => "a raw tool result",
            Self::Tool(_) => "a tool answer",
            Self::NeedsApproval(_) => "a need for approval",
            Self::Approval(_) => "a decision",
            Self::Withdrawn => "a withdrawal",
            Self::Lost => "a lost call",
        }
    }
}

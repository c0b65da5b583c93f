//! Asking a person before a tool runs.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::call::Caller;
use crate::ids::{CallId, Digest, ToolName};

/// What an approver is shown. The arguments are a copy; changing them changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Who is served.
    pub caller: Caller,
    /// The call that waits.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The component behind it; none for host tools.
    pub component: Option<Digest>,
    /// The digest of the definition the model saw.
    pub definition: Digest,
    /// The validated arguments.
    pub arguments: Value,
    /// The policy line that would allow the call without asking.
    pub policy_line: String,
}

/// What an approver says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// The call runs, this once.
    Approve,
    /// The call runs, and so does every later call of the same tool in this session, until the tool's
    /// component, definition or grants change.
    ApproveForSession,
    /// The call does not run; the model is told so and why.
    Deny(String),
    /// The call runs with these arguments instead; they are checked like the model's, and the model is told.
    Edit(Value),
    /// Somebody will decide later; the run waits, also in another process.
    Suspend,
}

/// What an approval is bound to: with anything else of these, another approval is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The component; none for host tools.
    pub component: Option<Digest>,
    /// The digest of the definition that was shown.
    pub definition: Digest,
    /// The digest of the grants in force; none for host tools.
    pub grants: Option<Digest>,
    /// The digest of the canonical JSON of the arguments.
    pub arguments: Digest,
}

/// Says that an approver could not decide; the call does not run.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("approver failed: {0}")]
pub struct ApproverError(pub String);

/// Whoever is asked. Nothing but an explicit approval runs a call.
pub trait Approver: Send + Sync {
    /// Decides one call; the future is dropped when the run's time is up.
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>>;
}

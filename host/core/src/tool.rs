//! The tool: what the loop may call.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::call::{CallReport, Caller};
use crate::canonical::{CanonicalError, hash};
use crate::ids::{CallId, Digest, IdempotencyKey, ToolName};
use crate::limits::CallLimits;
use crate::results::KeptResults;
use crate::services::Progress;

/// What a model is told about a tool. Text and hints are the author's claims; they give no authority.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The name the model calls.
    pub name: ToolName,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments, an object at the root.
    pub input_schema: Value,
    /// JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Claims of the author.
    #[serde(default)]
    pub hints: Hints,
    /// How long the author thinks a call may take, in milliseconds; it can lower the limit and never raises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u32>,
    /// Example arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
}

impl Definition {
    /// The digest approvals bind on: SHA-256 over the canonical JSON of the whole definition.
    ///
    /// # Errors
    /// A schema or example with a number that has no canonical form.
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        hash(&serde_json::to_value(self).map_err(CanonicalError::from)?)
    }
}

/// What an author claims of a tool; absent means the worst case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hints {
    /// Changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// May destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Calling twice is the same as calling once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Touches the world beyond its own data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Rust code of the embedding program, trusted.
    Host,
    /// A component in the sandbox, not trusted.
    Component,
}

/// A tool. Only the one door of the loop calls [`Tool::call`].
pub trait Tool: Send + Sync {
    /// What the model is told; frozen, always the same answer.
    fn definition(&self) -> &Definition;

    /// Where the tool runs.
    fn kind(&self) -> ToolKind;

    /// Whether the tool can reach something outside of the call; such a tool asks before it runs
    /// when its permission is `auto`.
    fn reaches_outside(&self) -> bool;

    /// The digest of the component behind the tool; none for host tools.
    fn component(&self) -> Option<Digest> {
        None
    }

    /// The digest of the grants its component has; none for host tools. Approvals are bound to it.
    fn grants_digest(&self) -> Option<Digest> {
        None
    }

    /// Runs the tool on arguments that were validated against [`Definition::input_schema`].
    ///
    /// Every failure is a report; dropping the future stops the tool.
    fn call<'a>(&'a self, ctx: &'a CallContext, arguments: &'a Value) -> BoxFuture<'a, CallReport>;
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.definition().name).field("kind", &self.kind()).finish()
    }
}

/// Takes progress of a running call; implementations keep the newest and never block.
pub trait ProgressSink: Send + Sync {
    /// Takes one report.
    fn progress(&self, progress: Progress);
}

/// What a tool knows of the call it serves.
#[derive(Clone)]
pub struct CallContext {
    /// Who is served.
    pub caller: Caller,
    /// The call.
    pub call: CallId,
    /// The same for every repetition of the call.
    pub idempotency_key: Option<IdempotencyKey>,
    /// What caps the call; host tools keep to the timeout.
    pub limits: CallLimits,
    /// What is left for this call and everything it starts.
    pub budget: Budget,
    /// Fires when the caller gives up.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub progress: Arc<dyn ProgressSink>,
    /// Results of the run that were too large for the model, when any are kept.
    pub results: Option<KeptResults>,
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("caller", &self.caller)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_digest_of_a_definition_changes_with_each_part() {
        let definition = Definition {
            name: ToolName::parse("echo").unwrap(),
            title: None,
            description: "Says it again.".into(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            hints: Hints::default(),
            timeout_ms: None,
            examples: Vec::new(),
        };
        let digest = definition.digest().unwrap();
        let other = Definition { description: "Says it again!".into(), ..definition.clone() };
        assert_ne!(digest, other.digest().unwrap());
        let other =
            Definition { hints: Hints { read_only: Some(true), ..Hints::default() }, ..definition.clone() };
        assert_ne!(digest, other.digest().unwrap());
        let round: Definition = serde_json::from_value(serde_json::to_value(&definition).unwrap()).unwrap();
        assert_eq!(digest, round.digest().unwrap());
    }
}

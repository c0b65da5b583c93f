//! What happens in a run, as events without content.

use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::call::Usage;
use crate::ids::{CallId, RunId, ToolName};
use crate::model::TokenUsage;
use crate::outcome::{EventOutcome, Outcome};
use crate::services::Progress;
use crate::units::millis;

/// One event. It never holds prompts, arguments or outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// The run.
    pub run: RunId,
    /// Its place in the order of the run, from 0.
    pub sequence: u64,
    /// The turn, from 0.
    pub turn: u32,
    /// Since the run started.
    #[serde(rename = "elapsed_ms", with = "millis")]
    pub elapsed: Duration,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run began; the first event.
    RunStarted,
    /// A model was asked.
    ModelStarted,
    /// A model answered, or failed.
    ModelFinished {
        /// Success or error.
        outcome: EventOutcome,
        /// Tokens used.
        tokens: TokenUsage,
    },
    /// A call waits for an approver.
    ApprovalRequired {
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
    },
    /// A call was dispatched.
    ToolStarted {
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
    },
    /// A running call says how far it has come.
    ToolProgress {
        /// The call.
        call: CallId,
        /// How far.
        progress: Progress,
    },
    /// A call ended; exactly one for each call.
    ToolFinished {
        /// The call.
        call: CallId,
        /// The name as the model wrote it, capped and escaped.
        tool: String,
        /// The coarse outcome.
        outcome: EventOutcome,
        /// The exact code; none for calls that were never dispatched.
        code: Option<Outcome>,
        /// What it used.
        usage: Usage,
    },
    /// The run ended; the last event.
    RunFinished {
        /// The flat label of the run's end.
        outcome: String,
    },
}

/// Says that an event could not be delivered; it ends the run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("event sink failed: {0}")]
pub struct SinkError(pub String);

/// Where events go, in order. A sink that waits slows the run down; one that fails ends it.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn send(&self, event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>>;
}

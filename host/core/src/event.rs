//! What happens in a run, as events, and who watches them.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::call::Usage;
use crate::content::Block;
use crate::ids::{CallId, RunId, SessionId, ToolName};
use crate::message::Message;
use crate::model::TokenUsage;
use crate::outcome::{EventOutcome, Outcome};
use crate::services::Progress;
use crate::units::millis;

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// Whose it is, and when.
    #[serde(flatten)]
    pub meta: EventMeta,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// What it happened with; only for whoever asks for [`Disclosure::Content`], and kept nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<EventContent>,
}

impl RunEvent {
    /// The event as [`Disclosure::Metadata`] shows it.
    #[must_use]
    pub fn without_content(&self) -> Self {
        Self { meta: self.meta.clone(), kind: self.kind.clone(), content: None }
    }
}

/// What an event happened with: prompts, arguments and outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventContent {
    /// What the run was asked; of [`EventKind::RunStarted`].
    Prompt(Vec<Block>),
    /// The reply as it was taken; of [`EventKind::ModelFinished`].
    Reply(Arc<Message>),
    /// The arguments an approver is shown or a tool is given; of [`EventKind::ApprovalRequired`] and
    /// [`EventKind::ToolStarted`].
    Arguments(Value),
    /// What the model reads of the call; of [`EventKind::ToolFinished`].
    Result(Arc<Message>),
    /// The guest's own words; of [`EventKind::ToolProgress`].
    Note(String),
    /// The output of the run; of [`EventKind::RunFinished`].
    Output(String),
}

/// Whose an event is, and when it was. It never holds prompts, arguments or outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMeta {
    /// The run.
    pub run: RunId,
    /// The conversation, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Its place in the order of the run, from 0. What a model says while it works has the place of
    /// the event before it.
    pub sequence: u64,
    /// The turn, from 0.
    pub turn: u32,
    /// How often the model was asked in this turn, from 1.
    pub attempt: u32,
    /// Since the run started, without the time it stood still.
    #[serde(rename = "elapsed_ms", with = "millis")]
    pub elapsed: Duration,
}

/// How much of a run a sink is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Disclosure {
    /// Events without prompts, arguments and outputs; what the result keeps.
    #[default]
    Metadata,
    /// Content too, and what the model says while it works.
    Content,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run began; the first event.
    RunStarted,
    /// The run went on after it stood still.
    RunResumed,
    /// The run stands still until somebody decides or resumes it.
    RunSuspended {
        /// The flat label of the state it is in.
        outcome: String,
    },
    /// A model was asked.
    ModelStarted,
    /// A model answered, or failed.
    ModelFinished {
        /// Success or error.
        outcome: EventOutcome,
        /// Tokens used.
        tokens: TokenUsage,
    },
    /// More of the text of a reply; shown with [`Disclosure::Content`], kept nowhere.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// More of the thinking; shown with [`Disclosure::Content`], kept nowhere.
    ThinkingDelta {
        /// The piece.
        text: String,
    },
    /// The run went on where it could have ended.
    Recovery {
        /// Why.
        reason: Recovery,
        /// How often for this reason, from 1.
        count: u32,
        /// The most tokens of the next reply, when that changed.
        next_budget: Option<u32>,
    },
    /// The model repeats itself.
    Repetition {
        /// The calls of one lap.
        period: u32,
        /// How many laps were equal.
        laps: u32,
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
        /// The tool; of one that does not exist, the name as the model wrote it, capped and escaped.
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

impl EventKind {
    /// Whether it is a piece of what a model says while it works: content, and nothing else.
    #[must_use]
    pub const fn is_delta(&self) -> bool {
        matches!(self, Self::TextDelta { .. } | Self::ThinkingDelta { .. })
    }
}

/// Why a run went on where it could have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Recovery {
    /// A reply with calls was cut; the calls are asked for again.
    TruncatedToolCall,
    /// An answer was cut; it goes on where it stopped.
    TruncatedText,
    /// The model said nothing.
    EmptyReply,
    /// The provider paused its turn; it is sent back.
    PausedTurn,
    /// The answer does not fit the output schema.
    InvalidOutput,
    /// The turns are used up; a final account is asked for.
    TurnLimit,
    /// A call could not be read or told apart; the reply is asked for again.
    UnreadableCall,
}

/// Says that an event could not be delivered; it ends the run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("event sink failed: {0}")]
pub struct SinkError(pub String);

/// Says that a hook failed; the run goes on, and its result says so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Where events go, in order. A sink that waits slows the run down; one that fails ends it.
pub trait EventSink: Send + Sync {
    /// How much it is shown.
    fn disclosure(&self) -> Disclosure {
        Disclosure::Metadata
    }

    /// Takes one event.
    fn send(&self, event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>>;
}

/// Watches a run and cannot change it.
///
/// A hook sees every event before the run goes on, in order, after the sink and the hooks before it.
/// One that fails is asked again at the next event; each failure is a warning of the run's result. One
/// that panics, or that is still busy when the run's time is up, sees no more of the run.
pub trait Hook: Send + Sync {
    /// What warnings call it.
    fn name(&self) -> &str;

    /// How much it is shown.
    fn disclosure(&self) -> Disclosure {
        Disclosure::Metadata
    }

    /// Sees one event.
    fn observe(&self, event: RunEvent) -> BoxFuture<'_, Result<(), HookError>>;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Both halves of an event stand in one object, so none may have a key of the other.
    #[test]
    fn no_kind_of_event_has_a_key_of_its_metadata() {
        let meta = EventMeta {
            run: RunId::parse("run").unwrap(),
            session: Some(SessionId::parse("session").unwrap()),
            sequence: 1,
            turn: 2,
            attempt: 3,
            elapsed: Duration::from_millis(4),
        };
        let call = CallId::parse("run:0:1").unwrap();
        let tool = ToolName::parse("add").unwrap();
        let outcome = EventOutcome::Success;
        let usage = Usage::default();
        let kinds = [
            EventKind::RunSuspended { outcome: "paused".into() },
            EventKind::ModelFinished { outcome, tokens: TokenUsage::default() },
            EventKind::TextDelta { text: "x".into() },
            EventKind::Recovery { reason: Recovery::EmptyReply, count: 1, next_budget: Some(2) },
            EventKind::Repetition { period: 1, laps: 3 },
            EventKind::ApprovalRequired { call: call.clone(), tool: tool.clone() },
            EventKind::ToolStarted { call: call.clone(), tool },
            EventKind::ToolProgress {
                call: call.clone(),
                progress: Progress { done: 1, total: None, note: None },
            },
            EventKind::ToolFinished { call, tool: "add".into(), outcome, code: Some(Outcome::Ok), usage },
            EventKind::RunFinished { outcome: "completed".into() },
        ];
        for kind in kinds {
            let content = Some(EventContent::Arguments(json!({"a": 1})));
            let event = RunEvent { meta: meta.clone(), kind, content };
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<RunEvent>(&text).unwrap(), event, "{text}");
            let Value::Object(keys) = serde_json::to_value(&event).unwrap() else { panic!("{text}") };
            assert_eq!(text.matches("\"attempt\"").count(), 1, "{text}");
            assert!(keys.len() > 7, "{text}");
        }
    }
}

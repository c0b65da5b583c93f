//! One tool call of a batch and how far it has come.

use std::fmt;
use std::sync::Arc;

use hotcell_core::approval::Approval;
use hotcell_core::call::CallReport;
use hotcell_core::content::Block;
use hotcell_core::ids::{Digest, IdempotencyKey, ToolName};
use hotcell_core::message::{Message, ToolCall};
use hotcell_core::outcome::{EventOutcome, Outcome};
use serde::{Deserialize, Serialize};

use super::command::{CommandId, PendingApproval};
use crate::answer::Answer;
use crate::wording;

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryStatus {
    /// Accepted with its batch; nothing was run.
    Prepared,
    /// Waits for an approver.
    Approval,
    /// Handed to the tool.
    Started,
    /// The tool has returned; middlewares have what it returned before them, or calls before it are
    /// still open.
    RawCompleted,
    /// The answer is part of the transcript.
    Completed,
    /// It was handed to the tool and its outcome is unknown.
    Uncertain,
    /// Never handed to the tool; see [`SkipReason`].
    Skipped,
}

/// Why a call was never handed to its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// The caller gave up on the run.
    Cancelled,
    /// The run's time was up.
    Deadline,
    /// The batch would have exceeded the tool-call budget of the run.
    MaxToolCalls,
    /// The reply held more calls than one turn may have.
    MaxToolCallsPerTurn,
    /// The reply was cut at its token limit, so the call may be half of one.
    CutReply,
    /// The model declined, or a filter stopped the reply.
    RefusedReply,
    /// The turns were used up; the reply was to be an answer without calls.
    FinalAnswer,
    /// The run failed.
    RunFailed,
}

impl SkipReason {
    /// What the model reads: that the tool did not run, why, and what to do.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Cancelled => "not run: the run was cancelled",
            Self::Deadline => "not run: the time of the run was up",
            Self::MaxToolCalls => {
                "not run: this batch would have exceeded the tool calls left for the run, so none of it was run"
            }
            Self::MaxToolCallsPerTurn => {
                "not run: the reply held more calls than one turn may have, so none of them was run; call fewer tools at a time"
            }
            Self::CutReply => {
                "not run: the reply was cut off at its token limit, so this call may be incomplete; call again if it is still needed"
            }
            Self::RefusedReply => "not run: the reply was declined or stopped by a filter",
            Self::FinalAnswer => "not run: the turns were used up and only an answer was asked for",
            Self::RunFailed => "not run: the run failed before this call",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// One tool call of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolEntry {
    /// The id of its command and of the call.
    pub id: CommandId,
    /// The call as the model wrote it.
    pub call: Arc<ToolCall>,
    /// How far it has come.
    pub status: EntryStatus,
    /// Whether it counts against the tool-call budget.
    pub counted: bool,
    /// What an approver is shown, while it waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Arc<PendingApproval>>,
    /// Whether an approver left it for later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// The call as middlewares left it, once they had it before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Arc<ToolCall>>,
    /// The arguments an approver wrote in place of the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Arc<str>>,
    /// What an approver agreed to; it is used up when the call is handed to its tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// What the tool returned, while middlewares have it before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Arc<CallReport>>,
    /// The door's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

impl ToolEntry {
    pub(super) fn new(id: CommandId, call: ToolCall) -> Self {
        Self {
            id,
            call: Arc::new(call),
            status: EntryStatus::Prepared,
            counted: false,
            pending: None,
            suspended: false,
            rewritten: None,
            edited: None,
            approval: None,
            skipped: None,
            raw: None,
            answer: None,
        }
    }

    /// `run:turn:call id`, the call id as the model gave it, or its digest when it is unfit for a key.
    ///
    /// # Panics
    /// Never: what a key is made of is bounded.
    #[must_use]
    pub fn idempotency_key(&self) -> IdempotencyKey {
        const LONGEST_PLAIN_ID: usize = 64;
        let id = &self.call.id;
        let prefix = format!("{}:{}", self.id.run, self.id.turn);
        let plain = (id.len() <= LONGEST_PLAIN_ID)
            .then(|| IdempotencyKey::parse(format!("{prefix}:{id}")).ok())
            .flatten();
        plain.unwrap_or_else(|| {
            let hex = Digest::of(id.as_bytes()).to_hex();
            IdempotencyKey::parse(format!("{prefix}:{hex}"))
                .expect("a checked run id of at most 160 bytes, a number and 64 digits stay within 256 bytes")
        })
    }

    /// The name of the tool; the name as the model wrote it or a middleware left it, where that means none
    /// or nobody looked yet.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        let meant = self.answer.as_ref().and_then(|answer| answer.tool.as_ref());
        let call = self.rewritten.as_ref().unwrap_or(&self.call);
        meant.map_or(call.name.as_str(), ToolName::as_str)
    }

    /// Whether nothing more can come for it.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        match self.status {
            EntryStatus::Prepared | EntryStatus::Approval | EntryStatus::Started => false,
            EntryStatus::RawCompleted => self.answer.is_some(),
            EntryStatus::Completed | EntryStatus::Uncertain | EntryStatus::Skipped => true,
        }
    }

    /// The coarse outcome an event shows; `None` while it is open.
    #[must_use]
    pub fn event_outcome(&self) -> Option<EventOutcome> {
        match self.status {
            EntryStatus::Prepared | EntryStatus::Approval | EntryStatus::Started => None,
            EntryStatus::RawCompleted | EntryStatus::Completed => {
                self.answer.as_ref().map(|answer| match answer.cached {
                    true => EventOutcome::Cached,
                    false => answer.report.outcome.event_outcome(),
                })
            }
            EntryStatus::Uncertain => Some(EventOutcome::Interrupted),
            EntryStatus::Skipped => Some(EventOutcome::Skipped),
        }
    }

    /// The call as it is to be run: as middlewares left it, with the arguments of an approver who changed
    /// them.
    #[must_use]
    pub fn call_to_run(&self) -> Arc<ToolCall> {
        let call = self.rewritten.as_ref().unwrap_or(&self.call);
        match &self.edited {
            None => Arc::clone(call),
            Some(arguments) => {
                Arc::new(ToolCall { arguments: arguments.to_string(), ..call.as_ref().clone() })
            }
        }
    }

    /// The one message that answers the call, with notes of the host in front.
    ///
    /// A note comes on top of the characters a result may have; it is bounded itself.
    pub(super) fn to_message(&self, note: Option<String>) -> Message {
        let text = |text: &str| vec![Block::text(text)];
        let (outcome, answered) = match (&self.answer, self.skipped) {
            (Some(answer), _) => (Some(answer.report.outcome), answer.content()),
            (None, Some(reason)) => (None, text(reason.text())),
            (None, None) => (Some(Outcome::Internal), text(UNCERTAIN)),
        };
        let edited = self.edited.as_ref().map(|arguments| wording::edited(arguments));
        let content = note.into_iter().chain(edited).map(Block::text).chain(answered).collect();
        Message::Tool { call_id: self.call.id.clone(), name: self.call.name.clone(), outcome, content }
    }
}

/// What the model reads of a call whose outcome is unknown.
const UNCERTAIN: &str = "error: internal\n\
    message: The call was handed to the tool and its outcome is not known; it may have had an effect.\n\
    advice: Find out what happened before calling again.";

//! The run as a pure state machine.
//!
//! A [`RunMachine`] asks for things ([`RunMachine::commands`]) and takes what came of them, one at a
//! time ([`RunMachine::apply`]). It has no clock, no randomness and does no I/O: time enters as the
//! time elapsed since the run began. It serialises to plain JSON between any two transitions, and a
//! store that keeps [`Entry`] values and the newest [`Head`] can rebuild it without ever having
//! written the history again.
//!
//! The cost of a transition does not depend on the length of the transcript: history is appended to
//! and shared, never copied.

mod apply;
mod batch;
mod command;
mod cost;
mod entry;
mod guard;
mod head;
mod recover;
mod reply;
mod setup;
mod stand;

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::message::{Message, Transcript};
use hotcell_core::model::{TokenUsage, ToolChoice};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

pub use self::apply::ApplyError;
pub use self::command::{Command, CommandId, CommandIdError, CommandOutcome, PendingApproval};
pub use self::entry::{EntryStatus, SkipReason, ToolEntry};
pub use self::guard::Laps;
use self::head::Added;
pub use self::head::{Entry, Head, Interrupt, MACHINE_VERSION, Notice, Recoveries, RunPhase, Step};
pub use self::recover::MAX_PAUSES;
pub use self::setup::{MAX_RUN_ID_BYTES, RunInput, RunSetup, SetupError};

use crate::status::{RunErrorInfo, RunStatus, StopReason};

/// One run, from prompt to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct RunMachine {
    setup: Arc<RunSetup>,
    head: Head,
    transcript: Transcript,
    batch: Vec<Arc<ToolEntry>>,
}

/// What a run is stored as: the setup once, the newest head, all messages, and the entries of the
/// present turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Parts {
    /// What stays the same.
    pub setup: Arc<RunSetup>,
    /// The newest head.
    pub head: Head,
    /// Every message, the history's included.
    pub transcript: Transcript,
    /// The tool entries of the present turn, in call order.
    pub batch: Vec<Arc<ToolEntry>>,
}

/// Says that stored parts do not make a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StateError {
    /// Another version of this program wrote them.
    #[error("stored run has version {found}, this program reads version {MACHINE_VERSION}")]
    Version {
        /// The version found.
        found: u32,
    },
    /// The parts contradict each other.
    #[error("stored run does not fit together: {0}")]
    Inconsistent(&'static str),
}

impl RunMachine {
    /// Begins a run: the history as it is, or the system message when there is none, then the prompt.
    ///
    /// # Errors
    /// [`SetupError`] when the run cannot start.
    pub fn start(mut setup: RunSetup, input: RunInput) -> Result<(Self, Step), SetupError> {
        setup::check(&mut setup, &input)?;
        let mut machine = Self {
            setup: Arc::new(setup),
            head: Head {
                version: MACHINE_VERSION,
                phase: RunPhase::Model,
                status: RunStatus::Running,
                stop: None,
                error: None,
                interrupt: None,
                turn: 0,
                turns: 0,
                tool_calls: 0,
                messages: input.history.len(),
                last_reply: None,
                pieces: Vec::new(),
                output_fits: false,
                answered: 0,
                running: 0,
                tokens: TokenUsage::default(),
                prompt_tokens: 0,
                reply_budget: None,
                affordable: None,
                recoveries: Recoveries::default(),
                laps: Laps::default(),
                elapsed: Duration::ZERO,
            },
            transcript: input.history,
            batch: Vec::new(),
        };
        machine.count_prompt();
        let mut added = Added::default();
        if machine.transcript.is_empty()
            && let Some(text) = input.system
        {
            added.entries.push(machine.append(Message::System { text }));
        }
        added.entries.push(machine.append(Message::User { content: input.prompt }));
        machine.fit_cost();
        let step = machine.step(added);
        Ok((machine, step))
    }

    /// Rebuilds a run from what a store kept.
    ///
    /// # Errors
    /// [`StateError`] when the parts are of another version or contradict each other.
    pub fn from_parts(parts: Parts) -> Result<Self, StateError> {
        let Parts { setup, head, transcript, batch } = parts;
        if head.version != MACHINE_VERSION {
            return Err(StateError::Version { found: head.version });
        }
        if head.messages != transcript.len() {
            return Err(StateError::Inconsistent("the head counts other messages than there are"));
        }
        let in_order = batch
            .iter()
            .zip(1_u32..)
            .all(|(tool, n)| tool.id.n == n && tool.id.turn == head.turn && tool.id.run == setup.run);
        if !in_order || head.answered > batch.len() {
            return Err(StateError::Inconsistent("the entries are not those of the present turn"));
        }
        if batch
            .iter()
            .any(|tool| !tool.is_closed() && tool.status == EntryStatus::RawCompleted && tool.raw.is_none())
        {
            return Err(StateError::Inconsistent("a call has returned and what it returned is missing"));
        }
        let running = batch.iter().filter(|tool| tool.status == EntryStatus::Started).count();
        if running != head.running {
            return Err(StateError::Inconsistent("the head counts other started calls than there are"));
        }
        Ok(Self { setup, head, transcript, batch })
    }

    /// What the run waits for, in the order in which a driver that does one thing at a time does them.
    ///
    /// Nothing is listed once the run has ended.
    pub fn commands(&self) -> impl Iterator<Item = Command> + '_ {
        let tool_choice = match self.head.phase {
            RunPhase::Model => Some(self.tool_choice()),
            RunPhase::FinalAnswer => Some(ToolChoice::None),
            RunPhase::Tools | RunPhase::Ended => None,
        };
        let model = tool_choice.map(|tool_choice| Command::CallModel {
            id: self.id(0),
            tool_choice,
            max_output_tokens: self.max_output_tokens(),
        });
        let batch = match self.head.phase {
            RunPhase::Tools => self.batch.get(self.head.answered..).unwrap_or_default(),
            RunPhase::Model | RunPhase::FinalAnswer | RunPhase::Ended => &[],
        };
        model.into_iter().chain(batch.iter().filter_map(|tool| self.command(tool)))
    }

    /// What a model must is asked of the first turn only.
    fn tool_choice(&self) -> ToolChoice {
        match &self.setup.tool_choice {
            ToolChoice::Required | ToolChoice::Named(_) if self.head.turns > 0 => ToolChoice::Auto,
            choice => choice.clone(),
        }
    }

    fn command(&self, tool: &ToolEntry) -> Option<Command> {
        match (tool.status, &tool.pending) {
            (EntryStatus::Prepared | EntryStatus::Started, _) => Some(Command::CallTool {
                id: tool.id.clone(),
                call: tool.call_to_run(),
                idempotency_key: tool.idempotency_key(),
                approval: tool.approval,
                started: tool.status == EntryStatus::Started,
            }),
            (EntryStatus::RawCompleted, _) => Command::finish(tool),
            (EntryStatus::Approval, Some(pending)) => Some(Command::AskApproval {
                id: self.id(tool.id.n.saturating_add(count(self.batch.len()))),
                request: Arc::clone(&pending.request),
                suspended: tool.suspended,
            }),
            (
                EntryStatus::Approval
                | EntryStatus::Completed
                | EntryStatus::Uncertain
                | EntryStatus::Skipped,
                _,
            ) => None,
        }
    }

    /// What stays the same for the whole run.
    #[must_use]
    pub fn setup(&self) -> &Arc<RunSetup> {
        &self.setup
    }

    /// The small part that changes.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The whole conversation, the history's part included. Cloning it is cheap.
    #[must_use]
    pub const fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The tool entries of the present turn, in call order.
    #[must_use]
    pub fn batch(&self) -> &[Arc<ToolEntry>] {
        &self.batch
    }

    /// The tool entry of the present turn with this id.
    #[must_use]
    pub fn tool(&self, id: &CommandId) -> Option<&ToolEntry> {
        let place = self.place(id)?;
        self.batch.get(place).map(Arc::as_ref)
    }

    /// Whether nothing more can change it.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.head.phase == RunPhase::Ended
    }

    /// The text of the newest reply of this run, whatever the status; the pieces of an answer that was
    /// cut or paused are put together.
    #[must_use]
    pub fn output(&self) -> Option<String> {
        let said = |place: usize| match self.transcript.get(place)?.as_ref() {
            Message::Assistant { text, .. } => text.clone(),
            // These places point at replies; any other message has no output to show.
            _ => None,
        };
        let last = said(self.head.last_reply?);
        let pieces: String = self.head.pieces.iter().filter_map(|place| said(*place)).collect();
        if pieces.is_empty() { last } else { Some(pieces + last.as_deref().unwrap_or_default()) }
    }

    /// The answer as JSON, when there is an output schema and the answer fits it.
    #[must_use]
    pub fn data(&self) -> Option<Value> {
        if !self.head.output_fits {
            return None;
        }
        serde_json::from_str(self.output()?.as_str()).ok()
    }

    fn id(&self, n: u32) -> CommandId {
        CommandId { run: self.setup.run.clone(), turn: self.head.turn, n }
    }

    /// The place in the batch of a call of the present turn.
    fn place(&self, id: &CommandId) -> Option<usize> {
        if id.run != self.setup.run || id.turn != self.head.turn {
            return None;
        }
        let place = usize::try_from(id.n.checked_sub(1)?).ok()?;
        (place < self.batch.len()).then_some(place)
    }

    fn append(&mut self, message: Message) -> Entry {
        let index = self.transcript.len();
        let message = self.push(message);
        Entry::Message { index, message }
    }

    fn push(&mut self, message: Message) -> Arc<Message> {
        self.count_message(&message);
        self.transcript.push(message);
        self.head.messages = self.transcript.len();
        self.transcript.last().expect("a message was pushed one line above")
    }

    fn step(&self, added: Added) -> Step {
        Step { entries: added.entries, notices: added.notices, head: self.head.clone() }
    }

    fn end(&mut self, status: RunStatus, stop: StopReason) {
        self.head.phase = RunPhase::Ended;
        self.head.status = status;
        self.head.stop = Some(stop);
        self.head.interrupt = None;
    }

    fn fail(&mut self, error: RunErrorInfo) {
        let stop = StopReason::of_error(error.kind);
        self.end(RunStatus::Failed, stop);
        self.head.error = Some(error);
    }
}

impl TryFrom<Parts> for RunMachine {
    type Error = StateError;
    fn try_from(parts: Parts) -> Result<Self, StateError> {
        Self::from_parts(parts)
    }
}

/// A number of calls; a batch is far smaller than `u32::MAX`, and a larger count is as good as that.
fn count(calls: usize) -> u32 {
    u32::try_from(calls).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

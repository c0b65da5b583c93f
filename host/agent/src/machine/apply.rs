//! Taking what came of a command, and what comes from outside of the commands.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::approval::{Approval as Binding, ApproverError, Decision};
use hotcell_core::call::CallReport;
use hotcell_core::canonical;
use hotcell_core::ids::ToolName;
use hotcell_core::message::ToolCall;
use hotcell_core::model::{ModelError, ModelReply};
use serde_json::Value;
use thiserror::Error;

use super::command::{CommandId, CommandOutcome, PendingApproval};
use super::entry::EntryStatus;
use super::head::{Added, Interrupt, RunPhase, Step};
use super::setup::whole_millis;
use super::{RunMachine, count};

use crate::answer::Answer;
use crate::status::{ErrorKind, RunErrorInfo};
use crate::wording;

/// Says that an outcome does not belong to the run; the run is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The id is one of another run.
    #[error("`{id}` is a command of another run than `{run}`")]
    OtherRun {
        /// The id given.
        id: CommandId,
        /// This run.
        run: String,
    },
    /// The run never asked for this.
    #[error("`{id}` is no command of this run")]
    Unknown {
        /// The id given.
        id: CommandId,
    },
    /// The command waits for another kind of outcome.
    #[error("`{id}` cannot take {found}; it is {status}")]
    WrongKind {
        /// The id given.
        id: CommandId,
        /// The outcome given.
        found: &'static str,
        /// How the command stands.
        status: &'static str,
    },
}

/// What an id of this run points at.
enum Target {
    /// Applied before, or no longer wanted.
    Past,
    Model,
    Call(usize),
    Approval(usize),
}

impl RunMachine {
    /// Takes what came of one command, `elapsed` after the run began.
    ///
    /// An outcome for a command that has one already, or that is no longer wanted, changes nothing:
    /// the step has no entries. The first outcome counts.
    ///
    /// # Errors
    /// [`ApplyError`] when the run did not ask for it; nothing is changed then.
    pub fn apply(
        &mut self,
        id: &CommandId,
        outcome: CommandOutcome,
        elapsed: Duration,
    ) -> Result<Step, ApplyError> {
        let wrong_kind = |status| ApplyError::WrongKind { id: id.clone(), found: outcome.kind(), status };
        match self.target(id)? {
            Target::Past => Ok(self.step(Added::default())),
            Target::Model => {
                let error = wrong_kind("waiting for a model reply");
                let CommandOutcome::Model(reply) = outcome else { return Err(error) };
                Ok(self.take_model(reply, elapsed))
            }
            Target::Approval(place) => {
                let error = wrong_kind("waiting for a decision");
                let CommandOutcome::Approval(decision) = outcome else { return Err(error) };
                Ok(self.take_decision(place, decision, elapsed))
            }
            Target::Call(place) => {
                let error = wrong_kind(self.describe(place));
                self.take_call(place, outcome, elapsed).ok_or(error)
            }
        }
    }

    /// Marks a call as handed to its tool; a store commits this before the tool runs.
    ///
    /// When the run is ending, the call is skipped instead; [`RunMachine::tool`] tells which.
    ///
    /// # Errors
    /// [`ApplyError`] when the id is not that of a call of this run.
    pub fn mark_started(&mut self, id: &CommandId, elapsed: Duration) -> Result<Step, ApplyError> {
        let place = match self.target(id)? {
            Target::Past => return Ok(self.step(Added::default())),
            Target::Call(place) => place,
            Target::Model | Target::Approval(_) => return Err(ApplyError::Unknown { id: id.clone() }),
        };
        let mut added = Added::default();
        self.wake();
        self.pass_time(elapsed);
        if self.head.interrupt.is_none() && self.status_at(place) == Some(EntryStatus::Prepared) {
            self.count_call(place);
            self.head.running += 1;
            self.update(place, &mut added, |tool| tool.status = EntryStatus::Started);
        }
        self.advance(&mut added);
        Ok(self.step(added))
    }

    /// Ends the run from outside: at once, or when the calls that were handed to tools have ended.
    ///
    /// Calls not handed to a tool yet are skipped. A stronger interrupt replaces a weaker one:
    /// failed over cancelled over deadline. A run that stands still ends. A run that has ended stays as it is, except that a
    /// failure to deliver its last event still makes it a failed run.
    pub fn interrupt(&mut self, interrupt: Interrupt, elapsed: Duration) -> Step {
        self.pass_time(elapsed);
        let mut added = Added::default();
        if self.head.phase == RunPhase::Ended {
            if let (Interrupt::Failed(error), None) = (interrupt, &self.head.error) {
                self.fail(error);
            }
            return self.step(added);
        }
        self.wake();
        self.raise(interrupt);
        self.advance(&mut added);
        self.step(added)
    }

    fn target(&self, id: &CommandId) -> Result<Target, ApplyError> {
        if id.run != self.setup().run {
            return Err(ApplyError::OtherRun { id: id.clone(), run: self.setup().run.to_string() });
        }
        let unknown = || ApplyError::Unknown { id: id.clone() };
        if id.turn < self.head.turn {
            return Ok(Target::Past);
        }
        let len = count(self.batch.len());
        if id.turn > self.head.turn || id.n > len.saturating_mul(2) {
            return Err(unknown());
        }
        match (id.n, self.head.phase) {
            (0, RunPhase::Model | RunPhase::FinalAnswer) => Ok(Target::Model),
            (_, RunPhase::Ended) | (0, RunPhase::Tools) => Ok(Target::Past),
            (n, _) => {
                let place = usize::try_from((n - 1) % len.max(1)).map_err(|_too_large| unknown())?;
                Ok(self.target_in_batch(place, n > len))
            }
        }
    }

    fn target_in_batch(&self, place: usize, approval: bool) -> Target {
        match self.batch.get(place) {
            Some(tool) if !tool.is_closed() => match (approval, tool.status) {
                (true, EntryStatus::Approval) => Target::Approval(place),
                // The decision was taken before.
                (true, _) => Target::Past,
                (false, _) => Target::Call(place),
            },
            Some(_) | None => Target::Past,
        }
    }

    fn take_model(&mut self, reply: Result<ModelReply, ModelError>, elapsed: Duration) -> Step {
        self.pass_time(elapsed);
        let mut added = Added::default();
        self.wake();
        match reply {
            Ok(reply) => self.take_reply(reply, &mut added),
            Err(ModelError::UnreadableCall { .. }) if self.go_on_after_unreadable(&mut added) => {}
            Err(error) => self.fail(error.into()),
        }
        self.advance(&mut added);
        self.step(added)
    }

    fn take_call(&mut self, place: usize, outcome: CommandOutcome, elapsed: Duration) -> Option<Step> {
        let status = self.status_at(place)?;
        let mut added = Added::default();
        if self.has_taken(place, &outcome) {
            return Some(self.step(added));
        }
        self.wake();
        match (outcome, status) {
            (
                CommandOutcome::Tool(answer),
                EntryStatus::Prepared | EntryStatus::Started | EntryStatus::RawCompleted,
            ) => {
                self.close(place, &mut added, Some(answer), EntryStatus::RawCompleted);
            }
            (CommandOutcome::Rewritten(call), EntryStatus::Prepared) => {
                self.rewrite(place, &mut added, call);
            }
            (CommandOutcome::Raw(report), EntryStatus::Started) => {
                self.take_raw(place, &mut added, report);
            }
            (CommandOutcome::Lost, EntryStatus::Prepared | EntryStatus::Started) => {
                self.close(place, &mut added, None, EntryStatus::Uncertain);
            }
            (CommandOutcome::NeedsApproval(pending), EntryStatus::Prepared) => {
                self.await_decision(place, &mut added, pending);
            }
            (CommandOutcome::Withdrawn, EntryStatus::Started) => {
                self.head.running = self.head.running.saturating_sub(1);
                self.update(place, &mut added, |tool| tool.status = EntryStatus::Prepared);
            }
            (
                CommandOutcome::Model(_)
                | CommandOutcome::Approval(_)
                | CommandOutcome::Rewritten(_)
                | CommandOutcome::Raw(_)
                | CommandOutcome::Tool(_)
                | CommandOutcome::NeedsApproval(_)
                | CommandOutcome::Withdrawn
                | CommandOutcome::Lost,
                _,
            ) => return None,
        }
        self.pass_time(elapsed);
        self.advance(&mut added);
        Some(self.step(added))
    }

    /// Whether an open call took this outcome before and has moved on since.
    fn has_taken(&self, place: usize, outcome: &CommandOutcome) -> bool {
        let Some(tool) = self.batch.get(place) else { return false };
        match outcome {
            // An approver may have agreed to something else than was asked for.
            CommandOutcome::NeedsApproval(_) => {
                tool.status == EntryStatus::Approval || tool.approval.is_some()
            }
            CommandOutcome::Withdrawn => tool.status == EntryStatus::Prepared,
            CommandOutcome::Rewritten(_) => tool.rewritten.is_some(),
            CommandOutcome::Raw(_) => tool.raw.is_some(),
            CommandOutcome::Model(_)
            | CommandOutcome::Tool(_)
            | CommandOutcome::Approval(_)
            | CommandOutcome::Lost => false,
        }
    }

    /// Another call than the model's goes to the door; it keeps the id.
    fn rewrite(&mut self, place: usize, added: &mut Added, call: ToolCall) {
        self.update(place, added, |tool| {
            tool.rewritten = Some(Arc::new(ToolCall { id: tool.call.id.clone(), ..call }));
        });
    }

    fn take_raw(&mut self, place: usize, added: &mut Added, report: Arc<CallReport>) {
        self.head.running = self.head.running.saturating_sub(1);
        self.update(place, added, |tool| {
            tool.status = EntryStatus::RawCompleted;
            tool.raw = Some(report);
        });
    }

    fn await_decision(&mut self, place: usize, added: &mut Added, pending: PendingApproval) {
        self.count_call(place);
        self.update(place, added, |tool| {
            tool.status = EntryStatus::Approval;
            tool.pending = Some(Arc::new(pending));
        });
    }

    fn take_decision(
        &mut self,
        place: usize,
        decision: Result<Decision, ApproverError>,
        elapsed: Duration,
    ) -> Step {
        let mut added = Added::default();
        self.wake();
        match decision {
            Ok(Decision::Approve | Decision::ApproveForSession) => self.approve(place, &mut added),
            Ok(Decision::Edit(arguments)) => self.approve_edited(place, &arguments, &mut added),
            Ok(Decision::Deny(reason)) => self.deny(place, &mut added, &reason),
            Ok(Decision::Suspend) => {
                if self.batch.get(place).is_some_and(|tool| tool.suspended) {
                    return self.step(added);
                }
                self.update(place, &mut added, |tool| tool.suspended = true);
            }
            Err(error) => {
                self.raise(Interrupt::Failed(RunErrorInfo::new(ErrorKind::Approval, error.to_string())));
            }
            // A decision this version does not know runs nothing.
            Ok(_) => self.deny(place, &mut added, "the approver gave a decision that is not supported"),
        }
        self.pass_time(elapsed);
        self.advance(&mut added);
        self.step(added)
    }

    fn approve(&mut self, place: usize, added: &mut Added) {
        self.update(place, added, |tool| {
            tool.status = EntryStatus::Prepared;
            tool.suspended = false;
            tool.approval = tool.pending.take().map(|pending| pending.approval);
        });
    }

    /// Approves other arguments than the model's. The door checks them like any others.
    fn approve_edited(&mut self, place: usize, arguments: &Value, added: &mut Added) {
        let Ok(digest) = canonical::hash(arguments) else {
            return self.deny(place, added, "the arguments written in place of the model's are no JSON");
        };
        self.approve(place, added);
        self.update(place, added, |tool| {
            tool.edited = Some(arguments.to_string().into());
            tool.approval = tool.approval.map(|approval| Binding { arguments: digest, ..approval });
        });
    }

    fn deny(&mut self, place: usize, added: &mut Added, reason: &str) {
        let Some(tool) = self.batch.get(place) else { return };
        let meant = tool.pending.as_ref().map(|pending| pending.request.tool.clone());
        let name = meant.as_ref().map_or(tool.call.name.as_str(), ToolName::as_str);
        let report = wording::denied_by_approver(name, reason);
        let meant = meant.filter(|meant| meant.as_str() != tool.call.name);
        let max_chars = self.setup().limits.max_result_chars.get();
        let answer = Answer { tool: meant, ..Answer::new(report, max_chars) };
        self.close(place, added, Some(answer), EntryStatus::RawCompleted);
    }

    /// Moves the time on, never back, and notices when it is up.
    pub(super) fn pass_time(&mut self, elapsed: Duration) {
        if self.head.phase == RunPhase::Ended {
            return;
        }
        self.head.elapsed = self.head.elapsed.max(whole_millis(elapsed));
        if self.setup().limits.max_time.is_some_and(|max| self.head.elapsed >= max) {
            self.raise(Interrupt::Deadline);
        }
    }

    fn raise(&mut self, interrupt: Interrupt) {
        let present = self.head.interrupt.as_ref().map_or(0, Interrupt::rank);
        if interrupt.rank() > present {
            self.head.interrupt = Some(interrupt);
        }
    }

    fn describe(&self, place: usize) -> &'static str {
        match self.status_at(place) {
            Some(EntryStatus::Prepared) => "a call that is prepared",
            Some(EntryStatus::Approval) => "a call that waits for a decision",
            Some(EntryStatus::Started) => "a call that was started",
            Some(EntryStatus::RawCompleted) => "a call whose tool has returned",
            Some(EntryStatus::Completed | EntryStatus::Uncertain | EntryStatus::Skipped) | None => {
                "a call that has ended"
            }
        }
    }
}

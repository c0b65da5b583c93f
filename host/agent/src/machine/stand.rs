//! Standing still and going on: runs that wait for a person, or were told to.

use std::time::Duration;

use super::RunMachine;
use super::command::{Command, CommandId, PendingApproval};
use super::entry::EntryStatus;
use super::head::{Added, RunPhase, Step};
use super::{ToolEntry, count};
use crate::status::{RunStatus, StopReason};

impl RunMachine {
    /// Says that nothing can be done before somebody decides: the run stands still with status
    /// [`RunStatus::AwaitingInput`] until a decision is applied.
    ///
    /// Nothing changes while calls run, or when no approval was left for later.
    pub fn suspend(&mut self, elapsed: Duration) -> Step {
        if self.is_idle() && self.suspended().next().is_some() {
            self.stand(RunStatus::AwaitingInput, StopReason::Approval, elapsed);
        }
        self.step(Added::default())
    }

    /// Stands still with status [`RunStatus::Paused`] until [`RunMachine::resume`] or the next outcome.
    ///
    /// Nothing changes while calls run.
    pub fn pause(&mut self, elapsed: Duration) -> Step {
        if self.is_idle() {
            self.stand(RunStatus::Paused, StopReason::Paused, elapsed);
        }
        self.step(Added::default())
    }

    /// Goes on after it stood still. Approvals that were left for later stay so; see
    /// [`RunMachine::ask_again`].
    pub fn resume(&mut self) -> Step {
        self.wake();
        self.step(Added::default())
    }

    /// Lists approvals that were left for later as open again, for a driver that can ask.
    pub fn ask_again(&mut self) -> Step {
        let mut added = Added::default();
        if self.head.phase == RunPhase::Tools {
            for place in self.head.answered..self.batch.len() {
                if self.batch.get(place).is_some_and(|tool| tool.suspended) {
                    self.update(place, &mut added, |tool| tool.suspended = false);
                }
            }
        }
        self.step(added)
    }

    /// Whether it stands still.
    #[must_use]
    pub const fn stands_still(&self) -> bool {
        matches!(self.head.status, RunStatus::AwaitingInput | RunStatus::Paused)
    }

    /// The calls whose approval was left for later, in call order.
    pub fn suspended(&self) -> impl Iterator<Item = &ToolEntry> {
        let open = match self.head.phase {
            RunPhase::Tools => self.batch.get(self.head.answered..).unwrap_or_default(),
            RunPhase::Model | RunPhase::FinalAnswer | RunPhase::Ended => &[],
        };
        open.iter().map(AsRef::as_ref).filter(|tool| tool.status == EntryStatus::Approval && tool.suspended)
    }

    /// The id a decision about this call of the present batch is applied under.
    #[must_use]
    pub fn approval_id(&self, tool: &ToolEntry) -> CommandId {
        self.id(tool.id.n.saturating_add(count(self.batch.len())))
    }

    /// What the approval of this id is about, while it is open.
    #[must_use]
    pub fn pending_approval(&self, id: &CommandId) -> Option<&PendingApproval> {
        let n = id.n.checked_sub(count(self.batch.len()))?;
        let call = CommandId { n, ..id.clone() };
        self.tool(&call)?.pending.as_deref()
    }

    /// Any outcome ends a standstill.
    pub(super) fn wake(&mut self) {
        if self.stands_still() {
            self.head.status = RunStatus::Running;
            self.head.stop = None;
        }
    }

    fn is_idle(&self) -> bool {
        self.head.phase != RunPhase::Ended && self.head.running == 0 && self.head.interrupt.is_none()
    }

    fn stand(&mut self, status: RunStatus, stop: StopReason, elapsed: Duration) {
        self.pass_time(elapsed);
        if self.head.interrupt.is_none() {
            self.head.status = status;
            self.head.stop = Some(stop);
        }
    }
}

impl Command {
    /// Whether it can be done now: an approval that was left for later waits for a decision.
    #[must_use]
    pub const fn is_suspended(&self) -> bool {
        matches!(self, Self::AskApproval { suspended: true, .. })
    }
}

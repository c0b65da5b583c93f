//! What a decision does beyond the call it is about.

use hotcell_core::approval::{ApproverError, Decision};

use super::Drive;
use crate::machine::{CommandId, CommandOutcome};

impl Drive<'_> {
    /// Applies a decision; one for the session is remembered first.
    pub(super) async fn take_decision(&mut self, id: &CommandId, decision: Result<Decision, ApproverError>) {
        if decision == Ok(Decision::ApproveForSession)
            && let Some(pending) = self.machine.pending_approval(id)
        {
            self.around.session_grants.remember(&pending.approval);
        }
        self.apply(id, CommandOutcome::Approval(decision)).await;
    }

    /// Whether what this command asks for was approved for the session meanwhile.
    pub(super) fn is_granted(&self, id: &CommandId) -> bool {
        let pending = self.machine.pending_approval(id);
        pending.is_some_and(|pending| self.around.session_grants.cover(&pending.approval))
    }

    /// Approves the calls that were left for later and are covered by what was approved for the session.
    pub(super) async fn approve_what_is_granted(&mut self) {
        let ids: Vec<_> = self.machine.suspended().map(|tool| self.machine.approval_id(tool)).collect();
        for id in ids {
            if self.is_granted(&id) {
                self.apply(&id, CommandOutcome::Approval(Ok(Decision::Approve))).await;
            }
        }
    }
}

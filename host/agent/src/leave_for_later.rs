//! An approver for programs that decide elsewhere.

use futures::future::BoxFuture;
use hotcell_core::approval::{ApprovalRequest, Approver, ApproverError, Decision};

/// Leaves every decision for later: a run with a call that asks stands still, and its result says what
/// it waits for.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeaveForLater;

impl Approver for LeaveForLater {
    fn decide(&self, _request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>> {
        Box::pin(std::future::ready(Ok(Decision::Suspend)))
    }
}

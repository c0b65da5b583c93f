//! One call outside of a run, from the request to the answer.

use hotcell_core::approval::{Approval, Approver, ApproverError, Decision};
use hotcell_core::canonical;
use hotcell_core::outcome::Outcome;
use serde_json::Value;

use super::{Admission, Asked, Consent, Door, DoorRequest};
use crate::answer::Answer;
use crate::machine::PendingApproval;
use crate::wording;

/// What an approver's decision comes to.
enum Ruling {
    Run,
    RunWith(Value),
    Not(Answer),
}

impl Door {
    /// The whole way of one call outside of a run: decide, ask when it must be, run.
    ///
    /// The answer comes in time, whatever tool and approver do: at the tool's deadline, at the
    /// budget's, or when the call is cancelled. Nothing can wait here: a decision that is left for later
    /// is answered with [`Outcome::ApprovalRequired`]. Arguments an approver wrote are checked like any
    /// others, and the answer says that they were changed.
    ///
    /// Dropping the future stops the tool.
    ///
    /// # Errors
    /// [`ApproverError`] when the approver failed; the tool did not run.
    pub async fn call(&self, request: &DoorRequest, asked: Asked<'_>) -> Result<Answer, ApproverError> {
        let (consent, approver) = match asked {
            Asked::Nobody => (Consent::Nobody, None),
            Asked::Operator => (Consent::Operator, None),
            Asked::Approver(approver) => (Consent::Later, Some(approver)),
        };
        let pending = match self.admit(request, consent) {
            Admission::Ask(pending) => pending,
            admission => return Ok(self.carry_out(admission).await),
        };
        let Some(approver) = approver else { return Ok(self.unasked(&pending)) };
        Ok(match self.ask(request, &pending, approver).await? {
            Ruling::Run => self.carry_out(self.admit(request, Consent::Given(pending.approval))).await,
            Ruling::RunWith(arguments) => self.call_with(request, &pending, &arguments).await,
            Ruling::Not(answer) => answer,
        })
    }

    async fn carry_out(&self, admission: Admission) -> Answer {
        match admission {
            Admission::Refused(answer) | Admission::Repeated(answer) => answer,
            Admission::Ready(ready) => ready.run().await,
            // An approval was given already, so this is a question nobody is left to answer.
            Admission::Ask(pending) => self.unasked(&pending),
        }
    }

    fn unasked(&self, pending: &PendingApproval) -> Answer {
        self.answer(wording::nobody_to_ask(pending.request.tool.as_str(), &pending.request.policy_line))
    }

    /// Runs the call with the arguments of an approver; the approval is bound to those.
    async fn call_with(&self, request: &DoorRequest, pending: &PendingApproval, arguments: &Value) -> Answer {
        let Ok(digest) = canonical::hash(arguments) else {
            let reason = "the arguments written in place of those of the call are no JSON";
            return self.answer(wording::denied_by_approver(pending.request.tool.as_str(), reason));
        };
        let edited = DoorRequest { arguments: arguments.to_string(), ..request.clone() };
        let approval = Approval { arguments: digest, ..pending.approval };
        let answer = self.carry_out(self.admit(&edited, Consent::Given(approval))).await;
        answer.with_note(&wording::edited(&edited.arguments))
    }

    async fn ask(
        &self,
        request: &DoorRequest,
        pending: &PendingApproval,
        approver: &dyn Approver,
    ) -> Result<Ruling, ApproverError> {
        let time_up = async {
            match request.budget.deadline() {
                Some(deadline) => self.clock.sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let decision = tokio::select! {
            biased;
            () = request.cancel.cancelled() => {
                let message = "The tool did not run: the call was cancelled while it waited for an approval.";
                return Ok(Ruling::Not(self.answer(wording::report(Outcome::Cancelled, message))));
            }
            decision = approver.decide(pending.request.as_ref().clone()) => decision?,
            () = time_up => return Ok(Ruling::Not(self.answer(wording::no_time_left()))),
        };
        let name = pending.request.tool.as_str();
        Ok(match decision {
            Decision::Approve => Ruling::Run,
            Decision::ApproveForSession => {
                self.session_grants.remember(&pending.approval);
                Ruling::Run
            }
            Decision::Edit(arguments) => Ruling::RunWith(arguments),
            Decision::Deny(reason) => Ruling::Not(self.answer(wording::denied_by_approver(name, &reason))),
            Decision::Suspend => Ruling::Not(self.answer(wording::left_for_later(name))),
            // A decision this version does not know runs nothing.
            _ => Ruling::Not(self.answer(wording::denied_by_approver(name, "the decision is not supported"))),
        })
    }
}

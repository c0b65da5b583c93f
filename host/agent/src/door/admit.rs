//! Deciding about one call, without running anything.

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::approval::{Approval, ApprovalRequest};
use hotcell_core::call::CallReport;
use hotcell_core::canonical;
use hotcell_core::limits::CallLimits;
use hotcell_core::policy::Verdict;
use hotcell_core::tool::{CallContext, ToolKind};
use serde_json::Value;

use super::{Admission, Consent, Door, DoorRequest, Ready, arguments};
use crate::answer::Answer;
use crate::machine::PendingApproval;
use crate::tool_set::Slot;
use crate::wording;

impl Door {
    /// Decides about one call: known, valid, within the budget, allowed, approved.
    ///
    /// Every attempt takes one call from the budget, also one that is refused; asking again with
    /// [`Consent::Given`] belongs to the same attempt and takes none.
    #[must_use]
    pub fn admit(&self, request: &DoorRequest, consent: Consent) -> Admission {
        // An approval belongs to an attempt that was counted when it was asked for.
        let counted = matches!(consent, Consent::Given(_));
        if !counted && !request.budget.take_calls(1) {
            return self.refuse(request, None, wording::no_calls_left());
        }
        let Some(slot) = self.tools.find(&request.tool, self.limits.repair_names) else {
            let report = wording::unknown_tool(&request.tool, &self.tools.close_to(&request.tool));
            return self.refuse(request, None, report);
        };
        match self.decide(request, slot, consent) {
            Ok(admission) => admission,
            Err(report) => self.refuse(request, Some(slot), *report),
        }
    }

    fn refuse(&self, request: &DoorRequest, slot: Option<&Arc<Slot>>, mut report: CallReport) -> Admission {
        report.usage.bytes_in = u64::try_from(request.arguments.len()).unwrap_or(u64::MAX);
        let tool = slot.and_then(|slot| slot.meant_by(&request.tool));
        Admission::Refused(Answer { tool, ..self.answer(report) })
    }

    fn decide(
        &self,
        request: &DoorRequest,
        slot: &Arc<Slot>,
        consent: Consent,
    ) -> Result<Admission, Box<CallReport>> {
        let max_bytes = self.limits.max_argument_bytes.get();
        let arguments = arguments::read(&request.arguments, max_bytes, &slot.input)?;
        if request.budget.remaining(self.clock.now()) == Some(Duration::ZERO) {
            return Err(Box::new(wording::no_time_left()));
        }
        let name = slot.definition.name.as_str();
        let line = &slot.offer.policy_line;
        match (slot.offer.permission.verdict(slot.offer.tool.reaches_outside()), consent) {
            (Verdict::Allow, _) | (Verdict::Ask, Consent::Operator) => {
                Ok(self.ready(request, slot, arguments))
            }
            (Verdict::Deny, _) => Err(Box::new(wording::denied_by_policy(name, line))),
            (Verdict::Ask, Consent::Nobody | Consent::Later) => {
                let approval = bind(slot, &arguments)?;
                if self.session_grants.cover(&approval) {
                    Ok(self.ready(request, slot, arguments))
                } else if consent == Consent::Later {
                    Ok(Admission::Ask(pending(request, slot, arguments, approval)))
                } else {
                    Err(Box::new(wording::nobody_to_ask(name, line)))
                }
            }
            (Verdict::Ask, Consent::Given(given)) if given == bind(slot, &arguments)? => {
                Ok(self.ready(request, slot, arguments))
            }
            (Verdict::Ask, Consent::Given(_)) => Err(Box::new(wording::approval_does_not_fit(name))),
        }
    }

    fn ready(&self, request: &DoorRequest, slot: &Arc<Slot>, arguments: Value) -> Admission {
        let results = self.first_results.as_ref().filter(|_| slot.is_pure());
        if let Some(answer) = results.and_then(|results| results.of(&slot.definition.name, &arguments)) {
            return Admission::Repeated(Answer { tool: slot.meant_by(&request.tool), ..answer });
        }
        let context = CallContext {
            caller: request.caller.clone(),
            call: request.call.clone(),
            idempotency_key: request.idempotency_key.clone(),
            limits: self.call_limits(slot),
            budget: request.budget.clone(),
            cancel: request.cancel.clone(),
            progress: Arc::clone(&request.progress),
            results: self.results.clone(),
        };
        Admission::Ready(Box::new(Ready {
            slot: Arc::clone(slot),
            shaping: self.shape_as(Some(slot), &request.tool, request.cancel.clone()),
            context,
            arguments,
            bytes_in: u64::try_from(request.arguments.len()).unwrap_or(u64::MAX),
            clock: Arc::clone(&self.clock),
        }))
    }

    /// The operator's limits; what the author thinks a call may take can only lower the timeout.
    fn call_limits(&self, slot: &Slot) -> CallLimits {
        let mut limits = slot.offer.limits.clone().unwrap_or_else(|| match slot.offer.tool.kind() {
            ToolKind::Component => CallLimits::default(),
            ToolKind::Host => CallLimits { timeout: self.limits.host_tool_timeout, ..CallLimits::default() },
        });
        if let Some(wish) = slot.definition.timeout_ms.filter(|wish| *wish > 0) {
            limits.timeout = limits.timeout.min(Duration::from_millis(u64::from(wish)));
        }
        limits
    }
}

fn bind(slot: &Slot, arguments: &Value) -> Result<Approval, Box<CallReport>> {
    let arguments = canonical::hash(arguments).map_err(|error| {
        let message = format!("The arguments cannot be shown for approval: {error}.");
        Box::new(CallReport::new(hotcell_core::outcome::Outcome::InvalidArgs, message))
    })?;
    let tool = &slot.offer.tool;
    Ok(Approval {
        component: tool.component(),
        definition: slot.digest,
        grants: tool.grants_digest(),
        arguments,
    })
}

fn pending(request: &DoorRequest, slot: &Slot, arguments: Value, approval: Approval) -> PendingApproval {
    let shown = ApprovalRequest {
        caller: request.caller.clone(),
        call: request.call.clone(),
        tool: slot.definition.name.clone(),
        component: slot.offer.tool.component(),
        definition: slot.digest,
        arguments,
        policy_line: slot.offer.policy_line.clone(),
    };
    PendingApproval { request: Arc::new(shown), approval }
}

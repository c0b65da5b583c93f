//! Runs that stand still, and how they go on.

use std::fmt;
use std::sync::Arc;

use hotcell_core::approval::{ApprovalRequest, Approver, Decision};
use hotcell_core::budget::Budget;
use hotcell_core::call::Caller;
use hotcell_core::event::EventSink;
use hotcell_core::ids::{CallId, IdempotencyKey};
use hotcell_core::results::ResultStore;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::CallRecord;
use crate::door::SessionGrants;
use crate::machine::{RunMachine, ToolEntry};

/// A run that stands still, as plain data: it goes on in this process or in another one.
///
/// It holds the whole conversation, arguments and results included. Whoever can change it can change
/// what the run did; it is to be kept as private as the conversation. An approval in it is still bound
/// to component, definition, grants and arguments, and going on twice from one copy runs what follows
/// twice, with the same idempotency keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspendedRun {
    pub(super) machine: RunMachine,
    /// The place of the next event.
    pub(super) next_sequence: u64,
    /// The calls that have ended.
    pub(super) calls: Vec<CallRecord>,
}

impl SuspendedRun {
    /// The run.
    #[must_use]
    pub const fn machine(&self) -> &RunMachine {
        &self.machine
    }

    /// What it waits for, in call order; empty for a run that was paused.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingCall> {
        pending(&self.machine)
    }
}

/// A call somebody has to decide about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The call; a decision names it.
    pub call: CallId,
    /// What has to be decided.
    pub status: PendingStatus,
    /// The same for every repetition of the call.
    pub idempotency_key: IdempotencyKey,
    /// What an approver is shown.
    pub request: Arc<ApprovalRequest>,
}

/// What somebody has to decide about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PendingStatus {
    /// Whether it may run.
    Approval,
}

/// What a run that stands still goes on with. The limits, the schema and the conversation are in its state.
#[derive(Clone)]
pub struct ResumeRequest {
    /// The run.
    pub run: SuspendedRun,
    /// What was decided, by call.
    pub decisions: Vec<(CallId, Decision)>,
    /// Who is served; the run is filled in.
    pub caller: Caller,
    /// Fires when the caller gives up.
    pub cancel: CancellationToken,
    /// Fires when the run is to stand still.
    pub pause: CancellationToken,
    /// Who is asked about calls nobody has decided about; without one those stay pending.
    pub approver: Option<Arc<dyn Approver>>,
    /// Where events go.
    pub sink: Option<Arc<dyn EventSink>>,
    /// What the run may spend of a caller above it.
    pub budget: Option<Budget>,
    /// Where results are that are too large for the model; `None` is the memory of this process.
    pub results: Option<Arc<dyn ResultStore>>,
    /// What was approved for the whole conversation; a decision of this kind is added to it.
    pub session_grants: SessionGrants,
}

impl ResumeRequest {
    /// Goes on with this run, without decisions, approver, sink or parent budget.
    #[must_use]
    pub fn new(run: SuspendedRun) -> Self {
        Self {
            run,
            decisions: Vec::new(),
            caller: Caller::local(),
            cancel: CancellationToken::new(),
            pause: CancellationToken::new(),
            approver: None,
            sink: None,
            budget: None,
            results: None,
            session_grants: SessionGrants::new(),
        }
    }

    /// The same request with a decision about one call.
    #[must_use]
    pub fn decide(mut self, call: CallId, decision: Decision) -> Self {
        self.decisions.push((call, decision));
        self
    }

    /// The same request with this approver.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// The same request with this sink.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// The same request that ends when the token fires.
    #[must_use]
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same request, which keeps large results there.
    #[must_use]
    pub fn results(mut self, results: Arc<dyn ResultStore>) -> Self {
        self.results = Some(results);
        self
    }

    /// The same request, which does not ask again about what was approved in this conversation.
    #[must_use]
    pub fn session_grants(mut self, grants: SessionGrants) -> Self {
        self.session_grants = grants;
        self
    }
}

impl fmt::Debug for ResumeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeRequest")
            .field("run", &self.run.machine.setup().run)
            .field("decisions", &self.decisions)
            .finish_non_exhaustive()
    }
}

/// Says why a run cannot go on. Nothing of it was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The run has ended.
    #[error("run `{run}` has ended and cannot go on")]
    Ended {
        /// The run.
        run: String,
    },
    /// A decision is about a call that waits for none.
    #[error("call `{call}` waits for no decision; these do: {pending}")]
    NotPending {
        /// The call of the decision.
        call: CallId,
        /// The calls that wait.
        pending: String,
    },
}

/// The entries behind decisions, in the order of the decisions.
pub(super) fn decided<'a>(
    machine: &'a RunMachine,
    decisions: &[(CallId, Decision)],
) -> Result<Vec<&'a ToolEntry>, ResumeError> {
    if machine.is_ended() {
        return Err(ResumeError::Ended { run: machine.setup().run.to_string() });
    }
    let of_call = |call: &CallId| machine.suspended().find(|tool| tool.id.to_string() == call.as_str());
    let known: Vec<_> = machine.suspended().map(|tool| tool.id.to_string()).collect();
    let pending = || if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    decisions
        .iter()
        .map(|(call, _)| {
            of_call(call).ok_or_else(|| ResumeError::NotPending { call: call.clone(), pending: pending() })
        })
        .collect()
}

pub(super) fn pending(machine: &RunMachine) -> Vec<PendingCall> {
    let of = |tool: &ToolEntry| {
        Some(PendingCall {
            call: tool.id.to_call_id().ok()?,
            status: PendingStatus::Approval,
            idempotency_key: tool.idempotency_key(),
            request: Arc::clone(&tool.pending.as_ref()?.request),
        })
    };
    machine.suspended().filter_map(of).collect()
}

//! The one door: every tool call goes through here, whoever makes it.
//!
//! Known? Valid? Budget? Policy? Approval? That is [`Door::admit`], which decides and runs nothing.
//! What it lets through is a [`Ready`], and [`Ready::run`] is the only place of the program that
//! calls a tool, shapes its result and records what it used.
//! The door holds no lock across a call, needs no run, and may be entered again from inside of a call.

mod admit;
mod alone;
mod arguments;
mod attempt;
mod duplicates;
mod first_results;
mod ready;
mod session_grants;

use std::fmt;
use std::sync::Arc;

use hotcell_core::approval::{Approval, Approver};
use hotcell_core::budget::Budget;
use hotcell_core::call::Caller;
use hotcell_core::ids::{CallId, IdempotencyKey};
use hotcell_core::limits::Limits;
use hotcell_core::results::KeptResults;
use hotcell_core::services::Progress;
use hotcell_core::tool::ProgressSink;
use tokio_util::sync::CancellationToken;

use self::first_results::FirstResults;
pub use self::ready::Ready;
pub(crate) use self::ready::Shaping;
pub use self::session_grants::{MAX_SESSION_GRANTS, SessionGrants};
use crate::answer::Answer;
use crate::clock::Clock;
use crate::machine::PendingApproval;
use crate::tool_set::{Slot, ToolSet};

/// The door to one set of tools, under the limits of one run or one caller.
#[derive(Debug, Clone)]
pub struct Door {
    tools: Arc<ToolSet>,
    limits: Arc<Limits>,
    clock: Arc<dyn Clock>,
    results: Option<KeptResults>,
    session_grants: SessionGrants,
    first_results: Option<FirstResults>,
}

/// One call that somebody wants to make.
#[derive(Clone)]
pub struct DoorRequest {
    /// Who is served.
    pub caller: Caller,
    /// The call.
    pub call: CallId,
    /// The same for every repetition of the call.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The name of the tool, as the caller wrote it.
    pub tool: String,
    /// The arguments as text; empty means `{}`.
    pub arguments: String,
    /// What is left for the call and everything it starts.
    pub budget: Budget,
    /// Fires when the caller gives up.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub progress: Arc<dyn ProgressSink>,
}

impl DoorRequest {
    /// A call without a parent budget, a cancellation or an interest in progress.
    pub fn new(caller: Caller, call: CallId, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            caller,
            call,
            idempotency_key: None,
            tool: tool.into(),
            arguments: arguments.into(),
            budget: Budget::root(hotcell_core::budget::BudgetLimits::default()),
            cancel: CancellationToken::new(),
            progress: Arc::new(NoProgress),
        }
    }
}

impl fmt::Debug for DoorRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DoorRequest")
            .field("call", &self.call)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// Nobody looks at progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn progress(&self, _progress: Progress) {}
}

/// What stands behind a call whose permission comes to `ask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Nobody can be asked: the call is denied, and the denial names the policy line that would allow it.
    Nobody,
    /// Somebody will be asked: the door answers with what to show.
    Later,
    /// Somebody agreed to this; it is checked again that it is this.
    Given(Approval),
    /// The operator typed the call; it runs unless the policy says deny.
    Operator,
}

/// What the door decided.
#[derive(Debug)]
pub enum Admission {
    /// The call has ended without running.
    Refused(Answer),
    /// The call has ended with the answer of an earlier one; see [`Door::answer_repeats`].
    Repeated(Answer),
    /// An approval is needed first.
    Ask(PendingApproval),
    /// The call may run.
    Ready(Box<Ready>),
}

/// Who is asked for approval outside of a run.
#[derive(Clone, Copy)]
pub enum Asked<'a> {
    /// Nobody.
    Nobody,
    /// The operator typed the call.
    Operator,
    /// This approver.
    Approver(&'a dyn Approver),
}

impl fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
            Self::Operator => "Operator",
            Self::Approver(_) => "Approver",
        })
    }
}

impl Door {
    /// A door to these tools.
    #[must_use]
    pub fn new(tools: Arc<ToolSet>, limits: Arc<Limits>, clock: Arc<dyn Clock>) -> Self {
        Self {
            tools,
            limits,
            clock,
            results: None,
            session_grants: SessionGrants::new(),
            first_results: None,
        }
    }

    /// The same door, which keeps results that are too large for the model instead of cutting them.
    #[must_use]
    pub fn keep_results(mut self, results: KeptResults) -> Self {
        self.results = Some(results);
        self
    }

    /// The same door, which does not ask again about what was approved for the session.
    #[must_use]
    pub fn session_grants(mut self, grants: SessionGrants) -> Self {
        self.session_grants = grants;
        self
    }

    /// What shapes the results of this tool, apart from a call of it.
    pub(crate) fn shaping(&self, tool: &str, cancel: CancellationToken) -> Shaping {
        self.shape_as(self.tools.find(tool, self.limits.repair_names), tool, cancel)
    }

    /// What shapes the results of this tool, which was called by the name that was written.
    fn shape_as(&self, slot: Option<&Arc<Slot>>, written: &str, cancel: CancellationToken) -> Shaping {
        Shaping {
            meant: slot.and_then(|slot| slot.meant_by(written)),
            reads_results: slot.is_some_and(|slot| slot.reads_results),
            results: self.results.clone(),
            max_result_chars: self.limits.max_result_chars.get(),
            cancel,
            clock: Arc::clone(&self.clock),
        }
    }

    /// The same door, which answers a call that repeats one it was shown with [`Door::remember`], where the
    /// tool reaches nothing outside of the call and declares itself read-only and idempotent.
    ///
    /// What it was shown is of one run; the clones of a door share it.
    #[must_use]
    pub fn answer_repeats(mut self) -> Self {
        self.first_results = Some(FirstResults::default());
        self
    }

    /// Shows the door what a call came to. A good answer of a tool that is pure is kept, up to a bound, when
    /// the door [answers repeats](Door::answer_repeats).
    pub fn remember(&self, tool: &str, arguments: &str, answer: &Answer) {
        let Some(results) = &self.first_results else { return };
        let slot = self.tools.find(tool, self.limits.repair_names).filter(|slot| slot.is_pure());
        if let Some(slot) = slot
            && let Ok(arguments) = arguments::parse(arguments)
        {
            results.keep(&slot.definition.name, &arguments, answer);
        }
    }

    fn answer(&self, report: hotcell_core::call::CallReport) -> Answer {
        Answer::new(report, self.limits.max_result_chars.get())
    }
}

#[cfg(test)]
mod tests;

//! One try of a call: from the tool's first step until it has ended or is gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_core::call::CallReport;
use hotcell_core::outcome::{Outcome, Phase};
use hotcell_core::tool::{CallContext, ToolKind};
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};

use crate::clock::Clock;
use crate::tool_set::Slot;
use crate::wording;

/// How long a component tool may take to report its own end after a deadline or a cancellation.
///
/// The sandbox keeps deadlines itself and knows what the call used; this is the backstop behind it.
const REPORT_GRACE: Duration = Duration::from_millis(50);

/// How long to wait for a tool that was stopped to be gone.
const STOP_GRACE: Duration = Duration::from_millis(20);

/// Why a call is cut short.
#[derive(Clone, Copy)]
enum Cut {
    Cancelled,
    /// The call's own limit, or what was left of the caller's time.
    Deadline {
        own: bool,
    },
}

/// Calls the tool once, until it ends or is cut short.
pub(super) async fn attempt(
    slot: &Slot,
    input: &Arc<(CallContext, Value)>,
    cut: &Deadlines,
    clock: &dyn Clock,
) -> CallReport {
    let mut task = JoinSet::new();
    let (tool, own_input) = (Arc::clone(&slot.offer.tool), Arc::clone(input));
    task.spawn(async move { tool.call(&own_input.0, &own_input.1).await });
    let early = tokio::select! {
        biased;
        ended = task.join_next() => Ok(ended),
        () = input.0.cancel.cancelled() => Err(Cut::Cancelled),
        () = cut.wait(clock) => Err(Cut::Deadline { own: cut.own }),
    };
    match early {
        Ok(ended) => ended_by_itself(ended),
        Err(reason) => stop(&mut task, slot.offer.tool.kind(), reason, cut.limit, clock).await,
    }
}

/// The instant a call is cut at, and whose it is.
pub(super) struct Deadlines {
    at: Option<Instant>,
    own: bool,
    /// The call's own limit.
    limit: Duration,
}

impl Deadlines {
    pub(super) fn new(began: Instant, context: &CallContext) -> Self {
        let limit = context.limits.timeout;
        // An instant beyond what the clock can say is no deadline.
        let own = began.checked_add(limit);
        match (own, context.budget.deadline()) {
            (Some(own), Some(callers)) if callers < own => Self { at: Some(callers), own: false, limit },
            (None, Some(callers)) => Self { at: Some(callers), own: false, limit },
            (own, _) => Self { at: own, own: true, limit },
        }
    }

    /// The time left at this instant; the whole limit when nothing cuts the call.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.at.map_or(self.limit, |at| at.saturating_duration_since(now))
    }

    async fn wait(&self, clock: &dyn Clock) {
        match self.at {
            Some(at) => clock.sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

fn ended_by_itself(ended: Option<Result<CallReport, JoinError>>) -> CallReport {
    match ended {
        Some(Ok(report)) => report,
        Some(Err(error)) if error.is_panic() => CallReport::new(
            Outcome::Internal,
            "The tool panicked; this is a fault of the program that offers it.",
        )
        .at(Phase::Call)
        .with_advice("Go on without this tool."),
        Some(Err(_)) | None => {
            CallReport::new(Outcome::Internal, "The tool was dropped before it ended.").at(Phase::Call)
        }
    }
}

/// Stops a tool: a component gets a moment to report itself, then its future is dropped.
async fn stop(
    task: &mut JoinSet<CallReport>,
    kind: ToolKind,
    reason: Cut,
    timeout: Duration,
    clock: &dyn Clock,
) -> CallReport {
    if kind == ToolKind::Component
        && let Some(Ok(report)) = within(task, REPORT_GRACE, clock).await
    {
        return report;
    }
    task.abort_all();
    let gone = within(task, STOP_GRACE, clock).await;
    if let Some(Ok(report)) = gone {
        // It ended in the same moment: its own word is truer than ours.
        return report;
    }
    let report = match reason {
        Cut::Cancelled => wording::report(Outcome::Cancelled, "The call was cancelled while the tool ran."),
        Cut::Deadline { own: true } => {
            let limit = hotcell_core::units::format_duration(timeout);
            wording::report(
                Outcome::Deadline,
                format!("The tool took longer than its limit of {limit} and was stopped."),
            )
        }
        Cut::Deadline { own: false } => {
            wording::report(Outcome::Deadline, "The caller's time was up while the tool ran; it was stopped.")
        }
    };
    let mut report = report.at(Phase::Call);
    if gone.is_none() {
        report.message.push_str(" It blocks its thread and may still be running.");
    }
    report
}

/// What the task came to within the time, if it did.
async fn within(
    task: &mut JoinSet<CallReport>,
    time: Duration,
    clock: &dyn Clock,
) -> Option<Result<CallReport, JoinError>> {
    let until = clock.now().checked_add(time)?;
    tokio::select! {
        biased;
        ended = task.join_next() => ended,
        () = clock.sleep_until(until) => None,
    }
}

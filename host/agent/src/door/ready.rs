//! Running one call that was let through: the only place that calls a tool.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_core::call::CallReport;
use hotcell_core::content::Block;
use hotcell_core::ids::ToolName;
use hotcell_core::outcome::{Outcome, Phase};
use hotcell_core::results::KeptResults;
use hotcell_core::text::cap_chars;
use hotcell_core::tool::{CallContext, ToolKind};
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::answer::Answer;
use crate::clock::Clock;
use crate::oversized::{self, Shaped};
use crate::schema::{MAX_VALUE_DEPTH, depth_is_at_most};
use crate::shape;
use crate::tool_set::Slot;
use crate::wording;

/// How long a component tool may take to report its own end after a deadline or a cancellation.
///
/// The sandbox keeps deadlines itself and knows what the call used; this is the backstop behind it.
const REPORT_GRACE: Duration = Duration::from_millis(50);

/// How long to wait for a tool that was stopped to be gone.
const STOP_GRACE: Duration = Duration::from_millis(20);

/// Most errors that are told of one result.
const MAX_ERRORS: usize = 5;

/// A call that passed every check. It can be run once.
pub struct Ready {
    pub(super) slot: Arc<Slot>,
    /// The name of the tool, where another one was written.
    pub(super) meant: Option<ToolName>,
    pub(super) context: CallContext,
    pub(super) arguments: Value,
    pub(super) bytes_in: u64,
    pub(super) max_result_chars: usize,
    pub(super) clock: Arc<dyn Clock>,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("context", &self.context).finish_non_exhaustive()
    }
}

/// Why a call is cut short.
#[derive(Clone, Copy)]
enum Cut {
    Cancelled,
    /// The call's own limit, or what was left of the caller's time.
    Deadline {
        own: bool,
    },
}

impl Ready {
    /// The name of the tool, as it is offered.
    #[must_use]
    pub fn tool(&self) -> &ToolName {
        &self.slot.definition.name
    }

    /// Runs the tool and shapes what it returned. The answer comes in time, whatever the tool does.
    pub async fn run(self) -> Answer {
        let (report, shaping) = self.run_tool().await;
        shaping.shape(report).await
    }

    /// Runs the tool; the report holds what it returned, whole, and is to be shaped for the model.
    ///
    /// The tool runs in a task of its own, so that a panic or a tool that never yields stays there.
    /// A host tool that blocks its thread cannot be stopped from outside: it is left behind, and the
    /// report says so.
    pub(crate) async fn run_tool(self) -> (CallReport, Shaping) {
        let Self { slot, meant, context, arguments, bytes_in, max_result_chars, clock } = self;
        let began = clock.now();
        let cut = Deadlines::new(began, &context);
        let kind = slot.offer.tool.kind();
        let budget = context.budget.clone();
        let cancel = context.cancel.clone();
        let timeout = context.limits.timeout;
        let results = context.results.clone();

        let mut task = JoinSet::new();
        let tool = Arc::clone(&slot.offer.tool);
        task.spawn(async move { tool.call(&context, &arguments).await });

        let early = tokio::select! {
            biased;
            ended = task.join_next() => Ok(ended),
            () = cancel.cancelled() => Err(Cut::Cancelled),
            () = cut.wait(clock.as_ref()) => Err(Cut::Deadline { own: cut.own }),
        };
        let report = match early {
            Ok(ended) => ended_by_itself(ended),
            Err(reason) => stop(&mut task, kind, reason, timeout, clock.as_ref()).await,
        };
        let mut report = check(report, &slot);
        record(&mut report, bytes_in, clock.now().saturating_duration_since(began));
        budget.spend(report.usage.fuel, report.usage.bytes_out);
        let shaping =
            Shaping { meant, reads_results: slot.reads_results, results, max_result_chars, cancel, clock };
        (report, shaping)
    }
}

/// What turns the report of a call into what the model reads.
pub(crate) struct Shaping {
    meant: Option<ToolName>,
    reads_results: bool,
    results: Option<KeptResults>,
    max_result_chars: usize,
    cancel: CancellationToken,
    clock: Arc<dyn Clock>,
}

impl Shaping {
    /// The answer: the report, and of it what the model may read.
    pub(crate) async fn shape(self, report: CallReport) -> Answer {
        let max_chars = self.max_result_chars;
        let answer = match &self.results {
            // What the reader gives is within the limit already, and is never kept a second time.
            _ if self.reads_results => {
                let whole = shape::whole(&report);
                let text = if report.outcome.is_ok() { whole } else { cap_chars(&whole, max_chars) };
                Answer::shaped(report, Shaped { text, warning: None }, max_chars)
            }
            Some(results) => {
                let shaped = oversized::shape(&report, results, &self.cancel, self.clock.as_ref()).await;
                Answer::shaped(report, shaped, max_chars)
            }
            None => Answer::new(report, max_chars),
        };
        Answer { tool: self.meant, ..answer }
    }
}

/// The instant a call is cut at, and whose it is.
struct Deadlines {
    at: Option<Instant>,
    own: bool,
}

impl Deadlines {
    fn new(began: Instant, context: &CallContext) -> Self {
        // An instant beyond what the clock can say is no deadline.
        let own = began.checked_add(context.limits.timeout);
        match (own, context.budget.deadline()) {
            (Some(own), Some(callers)) if callers < own => Self { at: Some(callers), own: false },
            (None, Some(callers)) => Self { at: Some(callers), own: false },
            (own, _) => Self { at: own, own: true },
        }
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

/// Holds a good result to what the tool promised.
fn check(report: CallReport, slot: &Slot) -> CallReport {
    let json = report.content.iter().filter_map(|block| match block {
        Block::Json { value } => Some(value),
        // Other content has no depth.
        _ => None,
    });
    if !json.chain(&report.structured).all(|value| depth_is_at_most(value, MAX_VALUE_DEPTH)) {
        let message = format!("The result is nested deeper than {MAX_VALUE_DEPTH} levels.");
        return invalid(report, message);
    }
    let Some(schema) = slot.output.as_ref().filter(|_| report.outcome.is_ok()) else { return report };
    let Some(value) = &report.structured else {
        return invalid(report, "The tool promises a structured result and returned none.".to_owned());
    };
    match schema.check(value, value.to_string().len(), MAX_ERRORS) {
        Ok(()) => report,
        Err(errors) => {
            let message = format!("The result does not match the output schema: {}.", errors.join("; "));
            invalid(report, message)
        }
    }
}

fn invalid(report: CallReport, message: String) -> CallReport {
    CallReport { usage: report.usage, ..CallReport::new(Outcome::InvalidResult, message).at(Phase::Lift) }
}

/// Fills in what a tool that does not measure itself leaves out.
fn record(report: &mut CallReport, bytes_in: u64, wall: Duration) {
    let usage = &mut report.usage;
    if usage.wall_us.total == 0 {
        usage.wall_us.total = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
    }
    if usage.bytes_in == 0 {
        usage.bytes_in = bytes_in;
    }
    if usage.bytes_out == 0 {
        let content: usize = report.content.iter().map(shape::block_bytes).sum();
        let structured = report.structured.as_ref().map_or(0, |value| value.to_string().len());
        usage.bytes_out = u64::try_from(content + structured).unwrap_or(u64::MAX);
    }
}

//! Running one call that was let through: the only place that calls a tool.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_core::call::{CallReport, Usage};
use hotcell_core::content::Block;
use hotcell_core::ids::ToolName;
use hotcell_core::outcome::{Outcome, Phase};
use hotcell_core::replay::ToolRetry;
use hotcell_core::results::KeptResults;
use hotcell_core::text::cap_chars;
use hotcell_core::tool::CallContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::attempt::{Deadlines, attempt};
use crate::answer::Answer;
use crate::clock::Clock;
use crate::oversized::{self, Shaped};
use crate::schema::{MAX_VALUE_DEPTH, depth_is_at_most};
use crate::shape;
use crate::tool_set::Slot;
use crate::wording;

/// Most errors that are told of one result.
const MAX_ERRORS: usize = 5;

/// A call that passed every check. It can be run once.
pub struct Ready {
    pub(super) slot: Arc<Slot>,
    pub(super) shaping: Shaping,
    pub(super) context: CallContext,
    pub(super) arguments: Value,
    pub(super) bytes_in: u64,
    pub(super) clock: Arc<dyn Clock>,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("context", &self.context).finish_non_exhaustive()
    }
}

impl Ready {
    /// The name of the tool, as it is offered.
    #[must_use]
    pub fn tool(&self) -> &ToolName {
        &self.slot.definition.name
    }

    /// The arguments, checked.
    pub(crate) const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Runs the tool and shapes what it returned. The answer comes in time, whatever the tool does.
    pub async fn run(self) -> Answer {
        let shaping = self.shaping.clone();
        shaping.shape(self.run_tool().await).await
    }

    /// Runs the tool; the report holds what it returned, whole, and is to be shaped for the model.
    ///
    /// The tool runs in a task of its own, so that a panic or a tool that never yields stays there.
    /// A host tool that blocks its thread cannot be stopped from outside: it is left behind, and the
    /// report says so.
    pub(crate) async fn run_tool(self) -> CallReport {
        let Self { slot, context, arguments, bytes_in, clock, .. } = self;
        let began = clock.now();
        let cut = Deadlines::new(began, &context);
        let cancel = context.cancel.clone();
        let mut input = Arc::new((context, arguments));
        let mut used = Usage::default();
        let mut tries = 0;
        let report = loop {
            let started = clock.now();
            let report = attempt(&slot, &input, &cut, clock.as_ref()).await;
            let mut report = check(report, &slot);
            record(&mut report, bytes_in, clock.now().saturating_duration_since(started));
            input.0.budget.spend(report.usage.fuel, report.usage.bytes_out);
            used.add(&report.usage);
            tries += 1;
            let offer = &slot.offer;
            let again = offer.replay.allows_retry(input.0.idempotency_key.is_some()) && report.is_transient();
            let until = again.then(|| next_try(offer.retry, &report, tries, &cut, clock.as_ref())).flatten();
            let Some(until) = until else { break report };
            if !input.0.budget.take_calls(1) {
                break report;
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => break wording::cancelled_between_tries(tries),
                () = clock.sleep_until(until) => {}
            }
            let timeout = &mut Arc::make_mut(&mut input).0.limits.timeout;
            *timeout = cut.left(clock.now()).min(*timeout);
        };
        if tries > 1 {
            let wall = clock.now().saturating_duration_since(began);
            used.wall_us.total = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        }
        used.retries = tries - 1;
        CallReport { usage: used, ..report }
    }
}

/// When a call that failed is tried again; `None` when it was tried often enough, or no time is left.
fn next_try(
    retry: ToolRetry,
    report: &CallReport,
    tries: u32,
    cut: &Deadlines,
    clock: &dyn Clock,
) -> Option<Instant> {
    let asked = report.tool_fault.as_ref().and_then(|fault| fault.retry_after_ms);
    let asked = asked.map(|wait| Duration::from_millis(u64::from(wait)));
    let until = clock.now().checked_add(retry.wait_after(tries, asked)?)?;
    // What was learned is worth more than a deadline that passes while nothing happens.
    (!cut.left(until).is_zero()).then_some(until)
}

/// What turns the report of a call into what the model reads.
#[derive(Clone)]
pub(crate) struct Shaping {
    /// The name of the tool, where another one was written.
    pub(super) meant: Option<ToolName>,
    pub(super) reads_results: bool,
    pub(super) results: Option<KeptResults>,
    pub(super) max_result_chars: usize,
    pub(super) cancel: CancellationToken,
    pub(super) clock: Arc<dyn Clock>,
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
    let bytes_out = u64::try_from(shape::content_bytes(report)).unwrap_or(u64::MAX);
    let usage = &mut report.usage;
    if usage.wall_us.total == 0 {
        usage.wall_us.total = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
    }
    if usage.bytes_in == 0 {
        usage.bytes_in = bytes_in;
    }
    if usage.bytes_out == 0 {
        usage.bytes_out = bytes_out;
    }
}

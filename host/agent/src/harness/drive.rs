//! The loop around the machine: does what a run asks for and tells it what came of it.

mod batch;
mod decisions;
mod model;
mod repeats;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;
use hotcell_core::approval::{Approver, Decision};
use hotcell_core::budget::{Budget, BudgetLimits};
use hotcell_core::call::{CallReport, Caller};
use hotcell_core::event::{EventContent, EventKind, EventSink, SinkError};
use hotcell_core::ids::CallId;
use hotcell_core::limits::{Limits, Oversized};
use hotcell_core::message::Message;
use hotcell_core::outcome::EventOutcome;
use hotcell_core::results::{KeptResults, ResultStore};
use tokio_util::sync::CancellationToken;

use super::emitter::{Emitter, EmitterSetup, Watcher};
use super::outbound::Outbound;
use super::result::label;
use super::resume::{self, ResumeError, ResumeRequest, SuspendedRun};
use super::stream::EventSender;
use super::{CallRecord, Harness, RunRequest, RunResult};
use crate::door::{Door, SessionGrants};
use crate::machine::{
    ApplyError, CommandId, CommandOutcome, Entry, Interrupt, RunInput, RunMachine, RunPhase, RunSetup,
    SetupError, Step, ToolEntry,
};
use crate::memory_results::MemoryResults;
use crate::shape;
use crate::status::{ErrorKind, RunErrorInfo, StopReason};
use crate::tool_set::ToolSet;
use crate::wording::quote;

/// A run that is ready to be driven to its end.
pub(super) fn run(
    harness: &Harness,
    request: RunRequest,
    reader: Option<EventSender>,
) -> Result<BoxFuture<'_, RunResult>, SetupError> {
    let mut drive = Drive::begin(harness, request, reader)?;
    Ok(Box::pin(async move {
        drive.emit_with(EventKind::RunStarted, prompt).await;
        drive.drive_on().await
    }))
}

/// A run that is ready to go on.
pub(super) fn resume(
    harness: &Harness,
    request: ResumeRequest,
    reader: Option<EventSender>,
) -> Result<BoxFuture<'_, RunResult>, ResumeError> {
    let (mut drive, decisions) = Drive::go_on(harness, request, reader)?;
    Ok(Box::pin(async move {
        drive.emit(EventKind::RunResumed).await;
        drive.decide_all(decisions).await;
        drive.drive_on().await
    }))
}

struct Drive<'a> {
    harness: &'a Harness,
    around: Around,
    machine: RunMachine,
    outbound: Outbound,
    tools: Arc<ToolSet>,
    door: Door,
    emitter: Emitter,
    budget: Budget,
    caller: Caller,
    deadline: Option<Instant>,
    calls: Vec<CallRecord>,
}

/// What a run meets outside of its machine.
struct Around {
    caller: Caller,
    cancel: CancellationToken,
    pause: CancellationToken,
    approver: Option<Arc<dyn Approver>>,
    sink: Option<Arc<dyn EventSink>>,
    /// Who reads the run as a stream.
    reader: Option<EventSender>,
    budget: Option<Budget>,
    results: Option<Arc<dyn ResultStore>>,
    session_grants: SessionGrants,
}

/// What ended a wait.
enum Waited<T> {
    Done(T),
    Cancelled,
    Deadline,
}

impl<'a> Drive<'a> {
    fn begin(
        harness: &'a Harness,
        request: RunRequest,
        reader: Option<EventSender>,
    ) -> Result<Self, SetupError> {
        harness.config.check()?;
        let setup = RunSetup {
            output_schema: request.output_schema,
            tool_choice: request.tool_choice,
            max_output_tokens: harness.config.max_output_tokens,
            model_output_tokens: harness.model.limits().max_output_tokens,
            // Nobody else asks, and it is the work of writing every schema.
            definition_bytes: request.limits.cost.map_or(0, |_| harness.tools.definition_bytes()),
            ..RunSetup::new(request.run, request.limits)
        };
        let input = RunInput {
            system: harness.config.system.clone(),
            history: request.history,
            prompt: request.prompt,
        };
        let (machine, _first) = RunMachine::start(setup, input)?;
        let around = Around {
            caller: request.caller,
            cancel: request.cancel,
            pause: request.pause,
            approver: request.approver,
            sink: request.sink,
            reader,
            budget: request.budget,
            results: request.results,
            session_grants: request.session_grants,
        };
        Ok(Self::new(harness, machine, around, 0, Vec::new()))
    }

    fn go_on(
        harness: &'a Harness,
        request: ResumeRequest,
        reader: Option<EventSender>,
    ) -> Result<(Self, Vec<(CommandId, Decision)>), ResumeError> {
        let SuspendedRun { machine, next_sequence, calls } = request.run;
        let tools = resume::decided(&machine, &request.decisions)?;
        let ids: Vec<_> = tools.into_iter().map(|tool| machine.approval_id(tool)).collect();
        let decisions = ids.into_iter().zip(request.decisions.into_iter().map(|(_, decision)| decision));
        let around = Around {
            caller: request.caller,
            cancel: request.cancel,
            pause: request.pause,
            approver: request.approver,
            sink: request.sink,
            reader,
            budget: request.budget,
            results: request.results,
            session_grants: request.session_grants,
        };
        Ok((Self::new(harness, machine, around, next_sequence, calls), decisions.collect()))
    }

    fn new(
        harness: &'a Harness,
        machine: RunMachine,
        mut around: Around,
        next_sequence: u64,
        calls: Vec<CallRecord>,
    ) -> Self {
        let limits = machine.setup().limits.clone();
        let clock = Arc::clone(&harness.clock);
        let spent = machine.head().elapsed;
        // A limit beyond what the clock can say is none.
        let own = limits.max_time.and_then(|max| clock.now().checked_add(max.saturating_sub(spent)));
        let bounds = BudgetLimits { deadline: own, ..BudgetLimits::default() };
        let budget =
            around.budget.as_ref().map_or_else(|| Budget::root(bounds), |parent| parent.child(bounds));
        let deadline = budget.deadline();
        let run = machine.setup().run.clone();
        let emitter = Emitter::new(EmitterSetup {
            run: run.clone(),
            session: around.caller.session.clone(),
            clock: Arc::clone(&clock),
            spent,
            next_sequence,
            deadline,
            cancel: around.cancel.clone(),
            watchers: watchers(harness, &mut around),
        });
        let results = kept_results(&limits, around.results.take());
        let tools = Arc::clone(if results.is_some() { &harness.with_reader } else { &harness.tools });
        let repeats = limits.dedupe_calls;
        let door = Door::new(Arc::clone(&tools), Arc::new(limits), clock)
            .session_grants(around.session_grants.clone());
        let door = if repeats { door.answer_repeats() } else { door };
        let door = match results {
            Some(results) => door.keep_results(results),
            None => door,
        };
        let caller = Caller { run: Some(run), ..around.caller.clone() };
        let outbound = Outbound::default();
        Self { harness, around, machine, outbound, tools, door, emitter, budget, caller, deadline, calls }
    }

    /// Goes on until the run has ended or stands still.
    async fn drive_on(mut self) -> RunResult {
        loop {
            self.check_time().await;
            if self.around.pause.is_cancelled() {
                let elapsed = self.emitter.elapsed();
                let step = self.machine.pause(elapsed);
                self.commit([step]).await;
            }
            if self.machine.stands_still() {
                break;
            }
            match self.machine.head().phase {
                RunPhase::Model | RunPhase::FinalAnswer => self.ask_model().await,
                RunPhase::Tools => self.run_batch().await,
                RunPhase::Ended => break,
            }
        }
        self.finish().await
    }

    /// Applies what was decided while the run stood still; where somebody can be asked, the rest is
    /// asked again.
    async fn decide_all(&mut self, decisions: Vec<(CommandId, Decision)>) {
        let step = self.machine.resume();
        self.commit([step]).await;
        for (id, decision) in decisions {
            self.take_decision(&id, Ok(decision)).await;
        }
        self.approve_what_is_granted().await;
        if self.around.approver.is_some() {
            let step = self.machine.ask_again();
            self.commit([step]).await;
        }
    }

    /// Sends one event; a sink that fails ends the run.
    async fn emit(&mut self, kind: EventKind) {
        self.emit_with(kind, |_| None).await;
    }

    /// Like [`Drive::emit`], with what it happened with.
    async fn emit_with(
        &mut self,
        kind: EventKind,
        content: impl FnOnce(&RunMachine) -> Option<EventContent>,
    ) {
        let turn = self.machine.head().turn;
        let step = self.send(turn, kind, content).await;
        self.commit(step).await;
    }

    /// Sends one event; the step is what a failing sink did to the run.
    async fn send(
        &mut self,
        turn: u32,
        kind: EventKind,
        content: impl FnOnce(&RunMachine) -> Option<EventContent>,
    ) -> Option<Step> {
        let told = self.emitter.emit(turn, kind, || content(&self.machine)).await;
        self.sink_failed(told)
    }

    fn sink_failed(&mut self, told: Result<(), SinkError>) -> Option<Step> {
        let error = RunErrorInfo::new(ErrorKind::EventSink, told.err()?.to_string());
        Some(self.machine.interrupt(Interrupt::Failed(error), self.emitter.elapsed()))
    }

    /// Records what a transition added and tells of every call that ended.
    async fn commit(&mut self, step: impl IntoIterator<Item = Step>) {
        let mut steps: VecDeque<Step> = step.into_iter().collect();
        while let Some(step) = steps.pop_front() {
            for entry in step.entries {
                let Entry::Answer { tool, message, .. } = entry else { continue };
                let Ok(call) = tool.id.to_call_id() else {
                    unreachable!("the machine refuses run ids that are too long for call ids")
                };
                self.calls.push(record(
                    &tool,
                    call.clone(),
                    self.machine.setup().limits.max_result_chars.get(),
                ));
                let told =
                    self.send(tool.id.turn, finished(&tool, call), |_| Some(EventContent::Result(message)));
                steps.extend(told.await);
            }
            for notice in step.notices {
                let turn = step.head.turn;
                steps.extend(self.send(turn, notice.into(), |_| None).await);
            }
        }
    }

    async fn apply(&mut self, id: &CommandId, outcome: CommandOutcome) {
        self.remember(id, &outcome);
        let elapsed = self.emitter.elapsed();
        let step = self.machine.apply(id, outcome, elapsed);
        self.commit_or_fail(step).await;
    }

    /// An outcome the machine refuses is a fault of this driver; the run ends rather than waits for ever.
    async fn commit_or_fail(&mut self, step: Result<Step, ApplyError>) {
        let step = step.unwrap_or_else(|error| {
            let error = RunErrorInfo::new(ErrorKind::Internal, error.to_string());
            self.machine.interrupt(Interrupt::Failed(error), self.emitter.elapsed())
        });
        self.commit([step]).await;
    }

    async fn interrupt(&mut self, interrupt: Interrupt) {
        let step = self.machine.interrupt(interrupt, self.emitter.elapsed());
        self.commit([step]).await;
    }

    /// Ends the run when its caller gave up or its time is up; cancellation first.
    async fn check_time(&mut self) {
        if self.machine.is_ended() {
            return;
        }
        if self.around.cancel.is_cancelled() {
            self.interrupt(Interrupt::Cancelled).await;
        } else if self.deadline.is_some_and(|deadline| self.harness.clock.now() >= deadline) {
            self.interrupt(Interrupt::Deadline).await;
        }
    }

    /// Waits for the future, the caller's giving up, or the end of the run's time.
    async fn within_time<T>(&self, work: impl Future<Output = T>) -> Waited<T> {
        tokio::select! {
            biased;
            () = self.around.cancel.cancelled() => Waited::Cancelled,
            done = work => Waited::Done(done),
            () = self.time_up() => Waited::Deadline,
        }
    }

    async fn time_up(&self) {
        match self.deadline {
            Some(deadline) => self.harness.clock.sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    }

    async fn finish(mut self) -> RunResult {
        let last = ending(&self.machine);
        let turn = self.machine.head().turn;
        let output = |machine: &RunMachine| machine.output().map(EventContent::Output);
        if self.send(turn, last, output).await.is_some() {
            // The sink did not take the last event; the one that is kept says how the run really ended.
            let last = ending(&self.machine);
            self.emitter.replace_last(last);
        }
        let elapsed = self.emitter.elapsed();
        let next_sequence = self.emitter.next_sequence();
        let (events, warnings) = self.emitter.into_told();
        let machine = self.machine;
        let suspended = machine.stands_still().then(|| {
            let calls = self.calls.clone();
            Box::new(SuspendedRun { machine: machine.clone(), next_sequence, calls })
        });
        let head = machine.head();
        RunResult {
            run: machine.setup().run.clone(),
            status: head.status,
            stop: head.stop.clone().unwrap_or(StopReason::Error),
            error: head.error.clone(),
            output: machine.output(),
            data: machine.data(),
            transcript: machine.transcript().clone(),
            turns: head.turns,
            tool_calls: head.tool_calls,
            elapsed,
            tokens: head.tokens,
            cost: machine.cost(),
            events,
            warnings,
            calls: self.calls,
            pending: resume::pending(&machine),
            suspended,
        }
    }
}

/// What the run was asked.
fn prompt(machine: &RunMachine) -> Option<EventContent> {
    match machine.transcript().last()?.as_ref() {
        Message::User { content } => Some(EventContent::Prompt(content.clone())),
        // A run begins with what somebody says.
        _ => None,
    }
}

/// The last event of a run that has ended or stands still.
fn ending(machine: &RunMachine) -> EventKind {
    let head = machine.head();
    let outcome = label(head.status, head.stop.as_ref().unwrap_or(&StopReason::Error)).to_owned();
    if machine.stands_still() {
        EventKind::RunSuspended { outcome }
    } else {
        EventKind::RunFinished { outcome }
    }
}

/// Who is told of the run: the sink, the reader of a stream, the hooks.
fn watchers(harness: &Harness, around: &mut Around) -> Vec<Watcher> {
    let sink = around.sink.take().map(Watcher::Sink);
    let reader = around.reader.take().map(|reader| Watcher::Sink(Arc::new(reader)));
    let hooks = harness.hooks.iter().map(|hook| Watcher::Hook(Arc::clone(hook)));
    sink.into_iter().chain(reader).chain(hooks).collect()
}

/// Where the run keeps results that are too large for its model; `None` when its limits say to cut them.
fn kept_results(limits: &Limits, store: Option<Arc<dyn ResultStore>>) -> Option<KeptResults> {
    match limits.oversized {
        Oversized::Truncate => None,
        Oversized::Spill { max_bytes } => {
            let store = store.unwrap_or_else(|| Arc::new(MemoryResults::default()));
            Some(KeptResults::new(store, limits.max_result_chars.get(), max_bytes.get()))
        }
    }
}

fn finished(tool: &ToolEntry, call: CallId) -> EventKind {
    let report = tool.answer.as_ref().map(|answer| &answer.report);
    EventKind::ToolFinished {
        call,
        tool: quote(tool.tool_name()),
        outcome: tool.event_outcome().unwrap_or(EventOutcome::Interrupted),
        code: report.map(|report| report.outcome),
        usage: report.map(|report| report.usage.clone()).unwrap_or_default(),
    }
}

fn record(tool: &ToolEntry, call: CallId, max_chars: usize) -> CallRecord {
    CallRecord {
        call,
        turn: tool.id.turn,
        tool: tool.tool_name().to_owned(),
        status: tool.status,
        skipped: tool.skipped,
        report: tool.answer.as_ref().map(|answer| bounded(&answer.report, max_chars)),
        cached: tool.answer.as_ref().is_some_and(|answer| answer.cached),
        warning: tool.answer.as_ref().and_then(|answer| answer.warning.clone()),
    }
}

/// The report, without content that is longer than what the model may read: a long run must not
/// hold every large result it ever saw.
fn bounded(report: &Arc<CallReport>, max_chars: usize) -> Arc<CallReport> {
    if shape::is_whole(report, max_chars) {
        return Arc::clone(report);
    }
    Arc::new(CallReport { content: Vec::new(), structured: None, ..report.as_ref().clone() })
}

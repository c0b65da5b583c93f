//! The loop around the machine: does what a run asks for and tells it what came of it.

mod batch;
mod decisions;

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures::{FutureExt as _, StreamExt as _};
use hotcell_core::approval::{Approver, Decision};
use hotcell_core::budget::{Budget, BudgetLimits};
use hotcell_core::call::{CallReport, Caller};
use hotcell_core::event::{EventKind, EventSink};
use hotcell_core::ids::CallId;
use hotcell_core::limits::{Limits, Oversized};
use hotcell_core::model::{ModelError, ModelEvent, ModelReply, ModelRequest, TokenUsage, ToolChoice};
use hotcell_core::outcome::EventOutcome;
use hotcell_core::results::{KeptResults, ResultStore};
use tokio_util::sync::CancellationToken;

use super::emitter::{Emitter, EmitterSetup};
use super::outbound::Outbound;
use super::result::label;
use super::resume::{self, ResumeError, ResumeRequest, SuspendedRun};
use super::{CallRecord, Harness, RunRequest, RunResult};
use crate::door::{Door, SessionGrants};
use crate::machine::{
    ApplyError, Command, CommandId, CommandOutcome, Entry, Interrupt, RunInput, RunMachine, RunPhase,
    RunSetup, SetupError, Step, ToolEntry,
};
use crate::memory_results::MemoryResults;
use crate::shape;
use crate::status::{ErrorKind, RunErrorInfo, StopReason};
use crate::tool_set::ToolSet;
use crate::wording::quote;

pub(super) async fn run(harness: &Harness, request: RunRequest) -> Result<RunResult, SetupError> {
    let mut drive = Drive::begin(harness, request)?;
    drive.emit(EventKind::RunStarted).await;
    Ok(drive.drive_on().await)
}

pub(super) async fn resume(harness: &Harness, request: ResumeRequest) -> Result<RunResult, ResumeError> {
    let (mut drive, decisions) = Drive::go_on(harness, request)?;
    drive.emit(EventKind::RunResumed).await;
    drive.decide_all(decisions).await;
    Ok(drive.drive_on().await)
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
    fn begin(harness: &'a Harness, request: RunRequest) -> Result<Self, SetupError> {
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
            budget: request.budget,
            results: request.results,
            session_grants: request.session_grants,
        };
        Ok(Self::new(harness, machine, around, 0, Vec::new()))
    }

    fn go_on(
        harness: &'a Harness,
        request: ResumeRequest,
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
            sink: around.sink.take(),
        });
        let results = kept_results(&limits, around.results.take());
        let tools = Arc::clone(if results.is_some() { &harness.with_reader } else { &harness.tools });
        let door = Door::new(Arc::clone(&tools), Arc::new(limits), clock)
            .session_grants(around.session_grants.clone());
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
        let turn = self.machine.head().turn;
        let step = self.send(turn, kind).await;
        self.commit(step).await;
    }

    /// Sends one event; the step is what a failing sink did to the run.
    async fn send(&mut self, turn: u32, kind: EventKind) -> Option<Step> {
        let error = self.emitter.emit(turn, kind).await.err()?;
        let error = RunErrorInfo::new(ErrorKind::EventSink, error.to_string());
        Some(self.machine.interrupt(Interrupt::Failed(error), self.emitter.elapsed()))
    }

    /// Records what a transition added and tells of every call that ended.
    async fn commit(&mut self, step: impl IntoIterator<Item = Step>) {
        let mut steps: VecDeque<Step> = step.into_iter().collect();
        while let Some(step) = steps.pop_front() {
            for entry in step.entries {
                let Entry::Answer { tool, .. } = entry else { continue };
                let Ok(call) = tool.id.to_call_id() else {
                    unreachable!("the machine refuses run ids that are too long for call ids")
                };
                self.calls.push(record(
                    &tool,
                    call.clone(),
                    self.machine.setup().limits.max_result_chars.get(),
                ));
                steps.extend(self.send(tool.id.turn, finished(&tool, call)).await);
            }
            for notice in step.notices {
                let turn = step.head.turn;
                steps.extend(self.send(turn, notice.into()).await);
            }
        }
    }

    async fn apply(&mut self, id: &CommandId, outcome: CommandOutcome) {
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

    async fn ask_model(&mut self) {
        let Some(Command::CallModel { id, tool_choice, max_output_tokens }) = self.machine.commands().next()
        else {
            return;
        };
        self.emit(EventKind::ModelStarted).await;
        self.check_time().await;
        if self.machine.is_ended() {
            // It was told that a model is asked, so it is told that the model was not.
            self.emit(model_finished(EventOutcome::Skipped, TokenUsage::default())).await;
            return;
        }
        let request = self.model_request(tool_choice, max_output_tokens);
        let model = Arc::clone(&self.harness.model);
        // Nothing of a model that panicked is used again: its stream is dropped.
        let reply = AssertUnwindSafe(one_reply(model.as_ref(), request)).catch_unwind();
        let reply = match self.within_time(reply).await {
            Waited::Done(Ok(reply)) => reply,
            Waited::Done(Err(_panic)) => {
                Err(ModelError::Provider { message: "the model panicked".to_owned(), status: None })
            }
            Waited::Cancelled => {
                self.interrupt(Interrupt::Cancelled).await;
                return self.emit(model_finished(EventOutcome::Interrupted, TokenUsage::default())).await;
            }
            Waited::Deadline => {
                self.interrupt(Interrupt::Deadline).await;
                return self.emit(model_finished(EventOutcome::TimedOut, TokenUsage::default())).await;
            }
        };
        let event = match &reply {
            Ok(reply) => model_finished(EventOutcome::Success, reply.usage),
            Err(_) => model_finished(EventOutcome::Error, TokenUsage::default()),
        };
        // Applied before it is told: the order of events is the order of commits.
        let elapsed = self.emitter.elapsed();
        let turn = self.machine.head().turn;
        let step = self.machine.apply(&id, CommandOutcome::Model(reply), elapsed);
        if let Err(error) = self.emitter.emit(turn, event).await {
            let error = RunErrorInfo::new(ErrorKind::EventSink, error.to_string());
            let failed = self.machine.interrupt(Interrupt::Failed(error), self.emitter.elapsed());
            self.commit_or_fail(step).await;
            return self.commit([failed]).await;
        }
        self.commit_or_fail(step).await;
    }

    fn model_request(&mut self, tool_choice: ToolChoice, max_output_tokens: Option<u32>) -> ModelRequest {
        ModelRequest {
            transcript: self.outbound.of(self.machine.transcript()),
            tools: self.tools.definitions(),
            tool_choice,
            max_output_tokens,
            temperature: self.harness.config.temperature,
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
        if self.send(turn, last).await.is_some() {
            // The sink did not take the last event; the one that is kept says how the run really ended.
            let last = ending(&self.machine);
            self.emitter.replace_last(last);
        }
        let elapsed = self.emitter.elapsed();
        let next_sequence = self.emitter.next_sequence();
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
            events: self.emitter.into_events(),
            calls: self.calls,
            pending: resume::pending(&machine),
            suspended,
        }
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

/// The reply at the end of the stream; what streams before it is not used yet.
async fn one_reply(
    model: &dyn hotcell_core::model::Model,
    request: ModelRequest,
) -> Result<ModelReply, ModelError> {
    let mut events = model.stream(request);
    while let Some(event) = events.next().await {
        if let ModelEvent::Reply(reply) = event? {
            return Ok(reply);
        }
    }
    Err(ModelError::Malformed { message: "the stream ended without a reply".to_owned() })
}

fn model_finished(outcome: EventOutcome, tokens: TokenUsage) -> EventKind {
    EventKind::ModelFinished { outcome, tokens }
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

//! Running the calls of one batch.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use hotcell_core::approval::{Approver, ApproverError, Decision};
use hotcell_core::call::CallReport;
use hotcell_core::event::{EventContent, EventKind};
use hotcell_core::message::ToolCall;
use tokio_util::sync::CancellationToken;

use super::Drive;
use crate::door::{Admission, Consent, DoorRequest, Ready};
use crate::harness::progress::ProgressBoard;
use crate::machine::{Command, CommandId, CommandOutcome, EntryStatus, Interrupt, RunMachine, RunPhase};
use crate::status::{ErrorKind, RunErrorInfo};

/// How long calls that run may take to end when the run is over; more than the door ever takes.
const CLOSING_TIME: Duration = Duration::from_millis(90);

/// Least time between two looks at the progress of the calls, so that a tool that reports without
/// end makes a bounded number of events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

type Running<T> = FuturesUnordered<BoxFuture<'static, (CommandId, T)>>;

/// What is under way in one batch.
struct Flight {
    /// Calls that run; each ends in what its command came to.
    tools: Running<CommandOutcome>,
    /// Calls that middlewares have before them.
    layers: Running<Result<CommandOutcome, RunErrorInfo>>,
    /// Which calls these are.
    layered: BTreeSet<CommandId>,
    approvals: Running<Result<Decision, ApproverError>>,
    /// Approvals that were asked for.
    asked: BTreeSet<CommandId>,
    /// Cancels the calls of this batch.
    cancel: CancellationToken,
    progress: Arc<ProgressBoard>,
    next_progress: Instant,
    /// When calls that still run are given up, once the run is ending.
    closing: Option<Instant>,
}

/// What happened next.
enum Event {
    Tool(CommandId, CommandOutcome),
    Layered(CommandId, Result<CommandOutcome, RunErrorInfo>),
    Decided(CommandId, Result<Decision, ApproverError>),
    Cancelled,
    Deadline,
    Progress,
    Paused,
    GaveUp,
}

impl Drive<'_> {
    /// Runs the calls of the present batch until each has ended or the run has.
    pub(super) async fn run_batch(&mut self) {
        let turn = self.machine.head().turn;
        let mut flight = Flight::new(self.around.cancel.child_token(), self.harness.clock.now());
        loop {
            self.launch_all(&mut flight).await;
            if self.machine.head().turn != turn || self.machine.is_ended() {
                return;
            }
            if flight.is_empty() {
                return self.stand_still().await;
            }
            match self.next_event(&mut flight).await {
                Event::Tool(id, outcome) => self.apply(&id, outcome).await,
                Event::Layered(id, outcome) => {
                    flight.layered.remove(&id);
                    match outcome {
                        Ok(outcome) => self.apply(&id, outcome).await,
                        Err(error) => self.interrupt(Interrupt::Failed(error)).await,
                    }
                }
                Event::Decided(id, decision) => self.take_decision(&id, decision).await,
                // Calls that run end; who is being asked is asked again when the run goes on.
                Event::Paused => flight.approvals.clear(),
                Event::Cancelled => self.interrupt(Interrupt::Cancelled).await,
                Event::Deadline => self.interrupt(Interrupt::Deadline).await,
                Event::Progress => self.tell_progress(&mut flight).await,
                Event::GaveUp => return self.give_up().await,
            }
            self.close_when_ending(&mut flight);
        }
    }

    /// Starts what may start: the first commands that are not under way, as many as run at a time.
    async fn launch_all(&mut self, flight: &mut Flight) {
        while flight.len() < self.harness.config.concurrent_calls.get() {
            self.check_time().await;
            self.close_when_ending(flight);
            let Some(command) = self.next_command(flight) else { return };
            self.launch(command, flight).await;
            self.close_when_ending(flight);
        }
    }

    fn next_command(&self, flight: &Flight) -> Option<Command> {
        let head = self.machine.head();
        if head.phase != RunPhase::Tools || head.interrupt.is_some() || self.around.pause.is_cancelled() {
            return None;
        }
        let mut open = self.machine.commands().filter(|command| match command {
            Command::CallTool { id, started, .. } => !started && !flight.layered.contains(id),
            Command::FinishCall { id, .. } => !flight.layered.contains(id),
            Command::AskApproval { id, .. } => !flight.asked.contains(id),
            Command::CallModel { .. } => false,
        });
        // Where calls run one after another, one that waits for a decision holds up those behind it.
        if self.harness.config.concurrent_calls == NonZeroUsize::MIN {
            return open.next().filter(|command| !command.is_suspended());
        }
        open.find(|command| !command.is_suspended())
    }

    async fn launch(&mut self, command: Command, flight: &mut Flight) {
        match command {
            Command::CallModel { .. } => {}
            Command::AskApproval { id, .. } if self.is_granted(&id) => {
                self.apply(&id, CommandOutcome::Approval(Ok(Decision::Approve))).await;
            }
            Command::AskApproval { id, request, suspended: _ } => {
                let kind =
                    EventKind::ApprovalRequired { call: request.call.clone(), tool: request.tool.clone() };
                self.emit_with(kind, |_| Some(EventContent::Arguments(request.arguments.clone()))).await;
                flight.asked.insert(id.clone());
                let Some(approver) = self.around.approver.as_ref().map(Arc::clone) else { return };
                if self.machine.head().interrupt.is_none() {
                    flight.approvals.push(ask(approver, id, request.as_ref().clone()));
                }
            }
            Command::FinishCall { id, tool, report } => self.finish_call(id, &tool, report, flight),
            Command::CallTool { id, call, .. } if self.is_to_be_rewritten(&id) => {
                self.rewrite(id, &call, flight);
            }
            Command::CallTool { id, call, idempotency_key, approval, started: _ } => {
                let Ok(call_id) = id.to_call_id() else {
                    unreachable!("the machine refuses run ids that are too long for call ids")
                };
                let request = DoorRequest {
                    caller: self.caller.clone(),
                    call: call_id,
                    idempotency_key: Some(idempotency_key),
                    tool: call.name.clone(),
                    arguments: call.arguments.clone(),
                    budget: self.budget.clone(),
                    cancel: flight.cancel.clone(),
                    progress: flight.progress.place(id.n),
                };
                let consent = match (approval, &self.around.approver) {
                    (Some(approval), _) => Consent::Given(approval),
                    (None, Some(_)) => Consent::Later,
                    (None, None) => Consent::Nobody,
                };
                match self.door.admit(&request, consent) {
                    Admission::Refused(answer) | Admission::Repeated(answer) => {
                        self.apply(&id, CommandOutcome::Tool(answer)).await;
                    }
                    Admission::Ask(pending) => {
                        self.apply(&id, CommandOutcome::NeedsApproval(pending)).await;
                    }
                    Admission::Ready(ready) => self.start(id, ready, flight).await,
                }
            }
        }
    }

    /// Hands a call to its tool: committed first, then told, then run.
    async fn start(&mut self, id: CommandId, ready: Box<Ready>, flight: &mut Flight) {
        let step = self.machine.mark_started(&id, self.emitter.elapsed());
        self.commit_or_fail(step).await;
        let started =
            |drive: &Self| drive.machine.tool(&id).map(|tool| tool.status) == Some(EntryStatus::Started);
        if !started(self) {
            return;
        }
        let (Some(call), tool) = (id.to_call_id().ok(), ready.tool().clone()) else { return };
        let arguments = |_: &RunMachine| Some(EventContent::Arguments(ready.arguments().clone()));
        self.emit_with(EventKind::ToolStarted { call, tool }, arguments).await;
        self.check_time().await;
        if self.machine.head().interrupt.is_some() {
            return self.apply(&id, CommandOutcome::Withdrawn).await;
        }
        let layered = !self.harness.layers.is_empty();
        flight.tools.push(Box::pin(async move {
            let outcome = if layered {
                CommandOutcome::Raw(Arc::new(ready.run_tool().await))
            } else {
                CommandOutcome::Tool(ready.run().await)
            };
            (id, outcome)
        }));
    }

    /// Whether middlewares have yet to see the call before it goes to the door.
    fn is_to_be_rewritten(&self, id: &CommandId) -> bool {
        !self.harness.layers.is_empty() && self.machine.tool(id).is_some_and(|tool| tool.rewritten.is_none())
    }

    fn rewrite(&self, id: CommandId, call: &ToolCall, flight: &mut Flight) {
        let (layers, stage, call) = (self.harness.layers.clone(), self.stage(Some(&id)), call.clone());
        flight.layered.insert(id.clone());
        flight.layers.push(Box::pin(async move {
            (id, layers.before_tool(&stage, call).await.map(CommandOutcome::Rewritten))
        }));
    }

    fn finish_call(&self, id: CommandId, tool: &str, report: Arc<CallReport>, flight: &mut Flight) {
        let (layers, stage) = (self.harness.layers.clone(), self.stage(Some(&id)));
        let shaping = self.door.shaping(tool, flight.cancel.clone());
        flight.layered.insert(id.clone());
        flight.layers.push(Box::pin(async move {
            let outcome = match layers.after_tool(&stage, report.as_ref().clone()).await {
                Ok(report) => Ok(CommandOutcome::Tool(shaping.shape(report).await)),
                Err(error) => Err(error),
            };
            (id, outcome)
        }));
    }

    async fn next_event(&self, flight: &mut Flight) -> Event {
        let clock = &self.harness.clock;
        let ending = flight.closing;
        let progress_due = async {
            flight.progress.changed().await;
            clock.sleep_until(flight.next_progress).await;
        };
        let given_up = async {
            match ending {
                Some(until) => clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.around.cancel.cancelled(), if ending.is_none() => Event::Cancelled,
            Some((id, outcome)) = flight.tools.next() => Event::Tool(id, outcome),
            Some((id, outcome)) = flight.layers.next() => Event::Layered(id, outcome),
            Some((id, decision)) = flight.approvals.next() => Event::Decided(id, decision),
            () = self.time_up(), if ending.is_none() => Event::Deadline,
            () = self.around.pause.cancelled(), if !flight.approvals.is_empty() => Event::Paused,
            () = given_up => Event::GaveUp,
            () = progress_due, if ending.is_none() => Event::Progress,
        }
    }

    /// Once the run is ending: nobody is asked any more, and calls that run are stopped.
    fn close_when_ending(&self, flight: &mut Flight) {
        if self.machine.head().interrupt.is_none() && !self.machine.is_ended() {
            return;
        }
        flight.approvals.clear();
        flight.layers.clear();
        flight.cancel.cancel();
        let now = self.harness.clock.now();
        flight.closing.get_or_insert_with(|| now.checked_add(CLOSING_TIME).unwrap_or(now));
    }

    /// Nothing is under way: the run was told to stand still, or waits for decisions.
    ///
    /// A batch that is open for no such reason would never end: a fault of this driver, which ends the
    /// run instead.
    async fn stand_still(&mut self) {
        if self.around.pause.is_cancelled() {
            return;
        }
        let elapsed = self.emitter.elapsed();
        let step = self.machine.suspend(elapsed);
        self.commit([step]).await;
        if self.machine.stands_still() || self.machine.is_ended() {
            return;
        }
        let error = RunErrorInfo::new(ErrorKind::Internal, "a batch is open and nothing is under way");
        self.interrupt(Interrupt::Failed(error)).await;
        self.give_up().await;
    }

    /// Nobody waits any longer for calls that do not end.
    async fn give_up(&mut self) {
        let lost: Vec<CommandId> = self
            .machine
            .batch()
            .iter()
            .filter(|tool| tool.status == EntryStatus::Started)
            .map(|tool| tool.id.clone())
            .collect();
        for id in lost {
            self.apply(&id, CommandOutcome::Lost).await;
        }
    }

    async fn tell_progress(&mut self, flight: &mut Flight) {
        let now = self.harness.clock.now();
        flight.next_progress = now.checked_add(PROGRESS_INTERVAL).unwrap_or(now);
        for (n, mut progress) in flight.progress.take() {
            let id = CommandId { run: self.machine.setup().run.clone(), turn: self.machine.head().turn, n };
            if let Ok(call) = id.to_call_id() {
                // The note is the guest's text, which is content.
                let note = progress.note.take();
                let kind = EventKind::ToolProgress { call, progress };
                self.emit_with(kind, |_| note.map(EventContent::Note)).await;
            }
        }
    }
}

impl Flight {
    fn new(cancel: CancellationToken, now: Instant) -> Self {
        Self {
            tools: FuturesUnordered::new(),
            layers: FuturesUnordered::new(),
            layered: BTreeSet::new(),
            approvals: FuturesUnordered::new(),
            asked: BTreeSet::new(),
            cancel,
            progress: Arc::default(),
            next_progress: now,
            closing: None,
        }
    }

    fn len(&self) -> usize {
        self.tools.len() + self.layers.len() + self.approvals.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn ask(
    approver: Arc<dyn Approver>,
    id: CommandId,
    request: hotcell_core::approval::ApprovalRequest,
) -> BoxFuture<'static, (CommandId, Result<Decision, ApproverError>)> {
    Box::pin(async move {
        // The future of an approver that panicked is dropped; its error ends the run, so the approver
        // is not asked again.
        let decision = AssertUnwindSafe(async { approver.decide(request).await }).catch_unwind().await;
        (id, decision.unwrap_or_else(|_panic| Err(ApproverError("it panicked".to_owned()))))
    })
}

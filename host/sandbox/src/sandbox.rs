//! The sandbox: owner of the engine and of every thread that serves guests.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hotcell_core::artifact::Artifact;
use hotcell_core::call::CallReport;
use hotcell_core::ids::{CallId, PrincipalId};
use hotcell_core::limits::CallLimits;
use hotcell_core::outcome::{Outcome, Phase};
use hotcell_core::services::HostServices;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::call_state::{CallState, Identity, Reply, Stop};
use crate::component::LoadedComponent;
use crate::config::{GuestGone, SandboxConfig};
use crate::deadlines::Deadlines;
use crate::engine::{engine_fingerprint, pooling_engine};
use crate::error::SandboxError;
use crate::guest::{GuestEnd, Job, Template, run};
use crate::guest_task::{Driven, GuestTask};
use crate::host::Host;
use crate::imports::linker;
use crate::report;
use crate::run_queue::RunQueue;
use crate::ticker::Ticker;

/// Threads for file operations of guests; further operations wait for one.
const MAX_BLOCKING_THREADS: usize = 16;

/// How long [`Sandbox::shutdown`] waits for guest threads that are stuck in the kernel.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Runs guests. Cloning shares it; the threads end with the last clone or with [`Sandbox::shutdown`].
#[derive(Clone)]
pub struct Sandbox {
    core: Arc<Core>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("config", &self.core.config).finish_non_exhaustive()
    }
}

/// What a sandbox is doing at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gauges {
    /// Calls that wait for admission or run.
    pub calls: usize,
    /// Guests that exist.
    pub guests: usize,
    /// Slots that are free.
    pub free_slots: usize,
    /// Whether the ticker sleeps because no guest exists.
    pub ticker_asleep: bool,
}

/// What the clones of a sandbox share.
pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<Host>,
    pub(crate) config: SandboxConfig,
    fingerprint: String,
    deadlines: Deadlines,
    ticker: Arc<Ticker>,
    queue: Arc<RunQueue>,
    slots: Arc<Semaphore>,
    serial: AtomicU64,
    principals: RandomState,
    handle: tokio::runtime::Handle,
    runtime: Mutex<Option<Runtime>>,
}

impl Sandbox {
    /// Starts the engine and its threads.
    ///
    /// # Errors
    /// A number of the configuration out of range, or a system that gives no threads or address space.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let engine = pooling_engine(&config)?;
        let linker = linker(&engine).map_err(|error| SandboxError::Config(format!("{error:#}")))?;
        let workers = config.guest_workers.get();
        // A guest that waits is only woken when a worker looks at timers, so they look after every poll.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .thread_name("hotcell-guest")
            .event_interval(1)
            .global_queue_interval(2)
            .enable_all()
            .build()
            .map_err(SandboxError::Thread)?;
        let core = Core {
            fingerprint: engine_fingerprint(&engine),
            deadlines: Deadlines::start()?,
            ticker: Arc::new(Ticker::start(engine.weak())?),
            queue: Arc::new(RunQueue::new(workers)),
            slots: Arc::new(Semaphore::new(usize::try_from(config.slots).unwrap_or(Semaphore::MAX_PERMITS))),
            serial: AtomicU64::new(0),
            principals: RandomState::new(),
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            engine,
            linker,
            config,
        };
        Ok(Self { core: Arc::new(core) })
    }

    /// Which engine artifacts must be made for: the `engine` of their header.
    #[must_use]
    pub fn engine(&self) -> &str {
        &self.core.fingerprint
    }

    /// Loads an artifact: checks that it fits the engine, the pool, the imports on offer and the tool interface.
    ///
    /// Runs no guest code.
    ///
    /// # Errors
    /// [`SandboxError`] says which of them it does not fit.
    pub fn load(&self, artifact: &Artifact) -> Result<LoadedComponent, SandboxError> {
        LoadedComponent::load(&self.core, artifact)
    }

    /// What the sandbox is doing at the moment.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            calls: self.core.deadlines.len(),
            guests: self.core.ticker.guests(),
            free_slots: self.core.slots.available_permits(),
            ticker_asleep: self.core.ticker.is_asleep(),
        }
    }

    /// Whether calls with these limits can run here.
    ///
    /// # Errors
    /// A limit that is larger than the configuration of the sandbox allows, by name.
    pub fn check_limits(&self, limits: &CallLimits) -> Result<(), SandboxError> {
        self.core.check_limits(limits)
    }

    /// Runs a future on a guest thread and waits for it; for calls that should not change threads.
    ///
    /// # Errors
    /// The sandbox was shut down.
    pub async fn on_guest_thread<F>(&self, future: F) -> Result<F::Output, SandboxError>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let gone = |error: tokio::task::JoinError| {
            SandboxError::Config(format!("the sandbox is shut down: {error}"))
        };
        self.core.handle.spawn(future).await.map_err(gone)
    }

    /// Stops every call, ends the threads and waits for them, at most ten seconds for each that is stuck in the kernel.
    ///
    /// Dropping the returned future is safe: the threads then end by themselves.
    pub async fn shutdown(&self) {
        self.core.deadlines.close();
        self.core.ticker.close();
        let Some(runtime) = self.core.take_runtime() else { return };
        let (done, wait) = oneshot::channel();
        let waiter = std::thread::Builder::new().name("hotcell-shutdown".into()).spawn(move || {
            runtime.shutdown_timeout(SHUTDOWN_GRACE);
            // Whoever waited may have given up.
            match done.send(()) {
                Ok(()) | Err(()) => {}
            }
        });
        if waiter.is_ok() {
            drop(wait.await);
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.deadlines.close();
        self.ticker.close();
        // Not the blocking way: the last owner may live inside of a runtime.
        if let Some(runtime) = self.take_runtime() {
            runtime.shutdown_background();
        }
    }
}

/// Where the guest of a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a guest thread; the caller waits on its own.
    GuestThread,
    /// Where the caller is; it must be on a guest thread already.
    Here,
}

/// Everything one call needs.
pub(crate) struct Submission {
    pub(crate) template: Arc<Template>,
    pub(crate) units: u32,
    pub(crate) call: CallId,
    pub(crate) principal: PrincipalId,
    pub(crate) limits: CallLimits,
    pub(crate) services: Arc<dyn HostServices>,
    pub(crate) job: Job,
    pub(crate) place: Place,
}

impl Core {
    pub(crate) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn take_runtime(&self) -> Option<Runtime> {
        self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn check_limits(&self, limits: &CallLimits) -> Result<(), SandboxError> {
        let config = &self.config;
        if limits.memory_bytes > config.max_memory_bytes {
            let (found, limit) = (limits.memory_bytes, config.max_memory_bytes);
            return Err(SandboxError::Config(format!(
                "a memory limit of {found} bytes is above the largest allowed, {limit} bytes"
            )));
        }
        if limits.table_elements > config.max_table_elements {
            let (found, limit) = (limits.table_elements, config.max_table_elements);
            return Err(SandboxError::Config(format!(
                "a limit of {found} table elements is above the largest allowed, {limit}"
            )));
        }
        Ok(())
    }

    /// Runs one guest and answers exactly once, at the latest when `cancel` ends. Dropping the future stops the guest.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        submission: Submission,
        cancel: impl Future<Output = ()>,
    ) -> Reply {
        let started = Instant::now();
        if let Err(error) = self.check_limits(&submission.limits) {
            let report = CallReport::new(Outcome::Internal, error.to_string()).at(Phase::Queue);
            return Reply::Report(Box::new(report));
        }
        let (sender, receiver) = oneshot::channel();
        let identity = Identity {
            id: submission.call,
            principal: self.principals.hash_one(&submission.principal),
            serial: self.serial.fetch_add(1, Ordering::Relaxed),
        };
        let call = CallState::new(identity, submission.limits, started, sender);
        call.set_phase(Phase::Queue);
        self.deadlines.add(&call);
        let dropped = CancelOnDrop { call: Some(Arc::clone(&call)), core: Arc::clone(self) };
        let work = Work {
            template: submission.template,
            services: submission.services,
            job: submission.job,
            units: submission.units,
        };
        let reply = self.admit_and_run(&call, work, submission.place, (receiver, cancel)).await;
        dropped.disarm();
        reply
    }

    async fn admit_and_run(
        self: &Arc<Self>,
        call: &Arc<CallState>,
        work: Work,
        place: Place,
        (receiver, cancel): (oneshot::Receiver<Reply>, impl Future<Output = ()>),
    ) -> Reply {
        let answered = Answered { call, deadlines: &self.deadlines, receiver };
        tokio::pin!(answered, cancel);
        let permit = match Arc::clone(&self.slots).try_acquire_many_owned(work.units) {
            Ok(permit) => permit,
            Err(_all_taken_or_closed) => {
                let slots = Arc::clone(&self.slots);
                tokio::select! {
                    biased;
                    reply = answered.as_mut().or_cancelled(cancel.as_mut()) => return reply,
                    permit = slots.acquire_many_owned(work.units) => match permit {
                        Ok(permit) => permit,
                        Err(_closed) => return answered.await,
                    },
                }
            }
        };
        let admitted = Instant::now();
        crate::call_state::add_time(&call.meters.queue_ns, admitted - call.started);
        match place {
            Place::GuestThread => {
                // The runtime owns the task, and whatever ends the call wakes it; see `GuestTask`.
                drop(self.handle.spawn(drive(Arc::clone(self), Arc::clone(call), (permit, admitted), work)));
            }
            Place::Here => drive(Arc::clone(self), Arc::clone(call), (permit, admitted), work).await,
        }
        answered.or_cancelled(cancel).await
    }
}

/// The answer to come.
struct Answered<'a> {
    call: &'a CallState,
    deadlines: &'a Deadlines,
    receiver: oneshot::Receiver<Reply>,
}

impl Future for Answered<'_> {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Reply> {
        let call = self.call;
        // Without a sender the runtime was shut down under the call.
        let closed = |_error| Reply::Report(Box::new(report::stopped(call, Stop::Shutdown)));
        Pin::new(&mut self.receiver).poll(ctx).map(|reply| reply.unwrap_or_else(closed))
    }
}

impl Answered<'_> {
    /// The answer; when `cancel` ends first, the call is stopped and the answer says what it has used.
    async fn or_cancelled(mut self: Pin<&mut Self>, cancel: Pin<&mut impl Future<Output = ()>>) -> Reply {
        tokio::select! {
            biased;
            reply = self.as_mut() => reply,
            () = cancel => {
                self.deadlines.remove(self.call);
                self.call.stop(Stop::Cancelled);
                self.await
            }
        }
    }
}

/// What the guest's side of a call needs.
struct Work {
    template: Arc<Template>,
    services: Arc<dyn HostServices>,
    job: Job,
    units: u32,
}

/// Drives the guest to its end, gives back what it held, and answers unless somebody did.
async fn drive(
    core: Arc<Core>,
    call: Arc<CallState>,
    (permit, admitted): (OwnedSemaphorePermit, Instant),
    work: Work,
) {
    let answering = Answering(Arc::clone(&call));
    let existing = core.ticker.guest();
    let guest = run(work.template, Arc::clone(&call), work.services, work.job);
    let driven = GuestTask::new(Arc::clone(&call), Arc::clone(&core.queue), guest, admitted).await;
    core.deadlines.remove(&call);
    drop(permit);
    drop(existing);
    let reply = match driven {
        Driven::Ended(GuestEnd::Returned(result)) => Reply::Report(Box::new(report::returned(&call, result))),
        Driven::Ended(GuestEnd::Defined(definitions)) => Reply::Definitions(definitions),
        Driven::Ended(GuestEnd::Failed { error, stderr_tail }) => {
            Reply::Report(Box::new(report::errored(&call, &error, stderr_tail)))
        }
        Driven::Panicked(_text) => Reply::Report(Box::new(report::panicked(&call))),
        Driven::Stopped => Reply::Report(Box::new(report::stopped(&call, Stop::Cancelled))),
    };
    if let Some(observer) = &core.config.observer
        && call.stopped().is_some()
    {
        let late = Instant::now().saturating_duration_since(call.deadline);
        let has_run = call.meters.guest_ns.load(Ordering::Relaxed) > 0;
        observer.guest_gone(&GuestGone { call: &call.id, late, has_run });
    }
    answering.with(reply);
}

/// The duty to answer. Whoever drops it without an answer, as a panic does, still answers.
struct Answering(Arc<CallState>);

impl Answering {
    fn with(self, reply: Reply) {
        if let Some(sender) = self.0.take_reply() {
            // The caller may have gone; then nobody waits for the answer.
            drop(sender.send(reply));
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take_reply() {
            drop(sender.send(Reply::Report(Box::new(report::panicked(&self.0)))));
        }
    }
}

/// Stops the guest when the caller's future is dropped before the answer.
struct CancelOnDrop {
    call: Option<Arc<CallState>>,
    core: Arc<Core>,
}

impl CancelOnDrop {
    /// The answer is there: whoever gave it has taken the call off the list of deadlines.
    fn disarm(mut self) {
        self.call = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.core.deadlines.remove(&call);
            call.stop(Stop::Cancelled);
        }
    }
}

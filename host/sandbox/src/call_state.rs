//! What one call shares between its caller, its guest and the thread that keeps deadlines.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use futures::task::AtomicWaker;
use hotcell_core::call::{CallReport, Usage, WallTime};
use hotcell_core::ids::CallId;
use hotcell_core::limits::CallLimits;
use hotcell_core::outcome::Phase;
use tokio::sync::oneshot;

use crate::abi::RawDefinition;
use crate::output::Output;

/// Why a call must end although its guest has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its time is up.
    Deadline,
    /// The caller gave up.
    Cancelled,
    /// The sandbox shuts down.
    Shutdown,
}

/// What a caller gets.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The report of a call.
    Report(Box<CallReport>),
    /// The tools of a component.
    Definitions(Vec<RawDefinition>),
}

/// The bits of [`CallState::wake_bits`].
const POLLING: u8 = 1;
const WOKEN: u8 = 2;

/// One call. Counters are atomics so that a report can be written while the guest still runs.
#[derive(Debug)]
pub(crate) struct CallState {
    pub(crate) id: CallId,
    /// A number for the principal, to be fair between principals.
    pub(crate) principal: u64,
    pub(crate) limits: CallLimits,
    pub(crate) started: Instant,
    pub(crate) deadline: Instant,
    /// Orders calls whose deadlines are equal.
    pub(crate) serial: u64,
    pub(crate) meters: Meters,
    pub(crate) output: Output,
    stop: AtomicU8,
    phase: AtomicU8,
    reply: Mutex<Option<oneshot::Sender<Reply>>>,
    /// Wakes the task that drives the guest.
    task: AtomicWaker,
    wake_bits: AtomicU8,
    /// Owned by the run queue; read and written under its lock.
    pub(crate) turn: AtomicU8,
}

/// What a call has used so far.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    pub(crate) fuel: AtomicU64,
    pub(crate) peak_memory: AtomicU64,
    pub(crate) growth_refused: AtomicU64,
    pub(crate) memory_refused: AtomicU64,
    pub(crate) resource_refused: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) output_bytes: AtomicU64,
    pub(crate) output_dropped: AtomicU64,
    pub(crate) log_records: AtomicU64,
    pub(crate) queue_ns: AtomicU64,
    pub(crate) instantiate_ns: AtomicU64,
    pub(crate) guest_ns: AtomicU64,
    pub(crate) host_wait_ns: AtomicU64,
}

/// Adds a duration to a counter of nanoseconds.
pub(crate) fn add_time(counter: &AtomicU64, time: Duration) {
    counter.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

impl CallState {
    pub(crate) fn new(
        identity: Identity,
        limits: CallLimits,
        started: Instant,
        reply: oneshot::Sender<Reply>,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: identity.id,
            principal: identity.principal,
            serial: identity.serial,
            deadline: started + limits.timeout,
            limits,
            started,
            meters: Meters::default(),
            output: Output::default(),
            stop: AtomicU8::new(0),
            phase: AtomicU8::new(0),
            reply: Mutex::new(Some(reply)),
            task: AtomicWaker::new(),
            wake_bits: AtomicU8::new(0),
            turn: AtomicU8::new(0),
        })
    }

    /// Why the call must end, if it must.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        match self.stop.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Stop::Deadline),
            2 => Some(Stop::Cancelled),
            _ => Some(Stop::Shutdown),
        }
    }

    /// Ends the call: answers the caller, if nobody did yet, and makes the guest go away.
    pub(crate) fn stop(&self, why: Stop) {
        let code = match why {
            Stop::Deadline => 1,
            Stop::Cancelled => 2,
            Stop::Shutdown => 3,
        };
        // The first reason stays.
        if self.stop.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            if let Some(reply) = self.take_reply() {
                // The caller may have gone; then nobody waits for the answer.
                drop(reply.send(Reply::Report(Box::new(crate::report::stopped(self, why)))));
            }
            self.task.wake();
        }
    }

    /// Takes the right to answer; only the first who asks gets it.
    pub(crate) fn take_reply(&self) -> Option<oneshot::Sender<Reply>> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        let index = Phase::ALL.iter().position(|known| *known == phase).unwrap_or_default();
        self.phase.store(u8::try_from(index).unwrap_or_default(), Ordering::Relaxed);
    }

    pub(crate) fn phase(&self) -> Phase {
        let index = usize::from(self.phase.load(Ordering::Relaxed));
        Phase::ALL.get(index).copied().unwrap_or(Phase::Call)
    }

    /// Names the task to wake.
    pub(crate) fn drive_by(&self, waker: &Waker) {
        self.task.register(waker);
    }

    /// Wakes the task that drives the guest.
    pub(crate) fn wake_task(&self) {
        self.task.wake();
    }

    /// Marks the start of a poll of the guest; wakes from here on count for it.
    pub(crate) fn begin_poll(&self) {
        self.wake_bits.store(POLLING, Ordering::Release);
    }

    /// Marks the end of a poll; says whether the guest woke itself meanwhile, as it does when it yields.
    pub(crate) fn end_poll(&self) -> bool {
        self.wake_bits.fetch_and(!POLLING, Ordering::AcqRel) & WOKEN != 0
    }

    /// Whether what the guest waits for has come.
    pub(crate) fn is_woken(&self) -> bool {
        self.wake_bits.load(Ordering::Acquire) & WOKEN != 0
    }

    /// What was used so far.
    pub(crate) fn usage(&self, now: Instant) -> Usage {
        let meters = &self.meters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Usage {
            wall_us: WallTime {
                total: u64::try_from(now.saturating_duration_since(self.started).as_micros())
                    .unwrap_or(u64::MAX),
                queue: read(&meters.queue_ns) / 1_000,
                compile: 0,
                instantiate: read(&meters.instantiate_ns) / 1_000,
                guest: read(&meters.guest_ns) / 1_000,
                host_wait: read(&meters.host_wait_ns) / 1_000,
            },
            fuel: read(&meters.fuel),
            peak_memory_bytes: read(&meters.peak_memory),
            growth_refused: read(&meters.growth_refused),
            bytes_in: 0,
            bytes_out: read(&meters.bytes_out),
            requests: 0,
            output_bytes: read(&meters.output_bytes),
            output_dropped: read(&meters.output_dropped),
            log_records: read(&meters.log_records),
            retries: 0,
        }
    }
}

/// Which call this is.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) id: CallId,
    pub(crate) principal: u64,
    pub(crate) serial: u64,
}

/// The waker the guest sees. A wake while the guest is being polled is only noted: whoever polls looks
/// at the note, so a guest that yields costs no trip through the executor.
impl Wake for CallState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.wake_bits.fetch_or(WOKEN, Ordering::AcqRel) & POLLING == 0 {
            self.task.wake();
        }
    }
}

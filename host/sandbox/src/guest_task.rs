//! Drives one guest: waits for its turn, polls it for a quantum, and lets go of it when it must stop.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::call_state::{CallState, add_time};
use crate::run_queue::{Class, RunQueue};
use crate::ticker::QUANTUM;

/// How driving a guest ended.
#[derive(Debug)]
pub(crate) enum Driven<T> {
    /// The guest ended by itself.
    Ended(T),
    /// The call was stopped and the guest is gone.
    Stopped,
    /// A function of the host panicked; the guest is gone.
    Panicked(String),
}

/// A guest and where it stands.
pub(crate) struct GuestTask<F> {
    call: Arc<CallState>,
    queue: Arc<RunQueue>,
    waker: Waker,
    guest: Option<Pin<Box<F>>>,
    stage: Stage,
    since: Instant,
    /// Time on the thread since the guest last went to the back of the queue.
    used: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It wants to run.
    Ready,
    /// It stands in the queue.
    Queued,
    /// It waits for something in the host.
    Waiting,
}

impl<F: Future> GuestTask<F> {
    pub(crate) fn new(call: Arc<CallState>, queue: Arc<RunQueue>, guest: F) -> Self {
        Self {
            waker: Waker::from(Arc::clone(&call)),
            guest: Some(Box::pin(guest)),
            stage: Stage::Ready,
            since: Instant::now(),
            used: Duration::ZERO,
            call,
            queue,
        }
    }

    /// Polls the guest until it ends, waits, or has used its quantum.
    fn run(&mut self) -> Poll<Driven<F::Output>> {
        let start = Instant::now();
        add_time(&self.call.meters.queue_ns, start - self.since);
        let mut ctx = Context::from_waker(&self.waker);
        loop {
            let Some(guest) = self.guest.as_mut() else {
                return Poll::Ready(Driven::Stopped);
            };
            self.call.begin_poll();
            // A panic of a host function must not take the worker's other guests with it. The guest's
            // store is dropped below and nothing else was borrowed.
            let polled = catch_unwind(AssertUnwindSafe(|| guest.as_mut().poll(&mut ctx)));
            let yielded = self.call.end_poll();
            let now = Instant::now();
            let ran = now - start;
            match polled {
                Ok(Poll::Ready(output)) => {
                    add_time(&self.call.meters.guest_ns, ran);
                    self.guest = None;
                    return Poll::Ready(Driven::Ended(output));
                }
                Err(panic) => {
                    self.guest = None;
                    return Poll::Ready(Driven::Panicked(panic_text(panic.as_ref())));
                }
                // Fuel yields come more often than ticks, and the first tick may come at once: stay on the
                // thread for at least half a quantum, so that a turn is one quantum on average.
                Ok(Poll::Pending) if yielded && ran < QUANTUM / 2 && self.call.stopped().is_none() => {}
                Ok(Poll::Pending) => {
                    add_time(&self.call.meters.guest_ns, ran);
                    self.used += ran;
                    self.since = now;
                    if yielded {
                        self.used = Duration::ZERO;
                        self.stage = Stage::Queued;
                        self.queue.take_turns(&self.call);
                        // The kernel lets a thread that computes finish a slice of about three milliseconds
                        // before one that was woken; the threads of callers and deadlines should not wait that long.
                        std::thread::yield_now();
                    } else {
                        self.stage = Stage::Waiting;
                        self.queue.leave(&self.call);
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    /// A guest that computes a quantum in many small pieces is as spent as one that does so at once.
    fn class(&mut self) -> Class {
        if self.used >= QUANTUM {
            self.used = Duration::ZERO;
            Class::Spent
        } else {
            Class::Fresh
        }
    }
}

impl<F: Future> Future for GuestTask<F> {
    type Output = Driven<F::Output>;

    fn poll(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.call.drive_by(ctx.waker());
        loop {
            if this.call.stopped().is_some() {
                this.guest = None;
                return Poll::Ready(Driven::Stopped);
            }
            match this.stage {
                Stage::Waiting => {
                    if !this.call.is_woken() {
                        return Poll::Pending;
                    }
                    let now = Instant::now();
                    add_time(&this.call.meters.host_wait_ns, now - this.since);
                    this.since = now;
                    this.stage = Stage::Ready;
                }
                Stage::Ready => {
                    let class = this.class();
                    if this.queue.request(&this.call, class) {
                        return this.run();
                    }
                    this.stage = Stage::Queued;
                    return Poll::Pending;
                }
                Stage::Queued => {
                    if !this.queue.is_granted(&this.call) {
                        return Poll::Pending;
                    }
                    return this.run();
                }
            }
        }
    }
}

impl<F> Drop for GuestTask<F> {
    fn drop(&mut self) {
        // First the guest, then its place: whoever runs next finds the memory free.
        self.guest = None;
        self.queue.leave(&self.call);
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}

//! Drives one guest: waits for its turn, polls it for a quantum, and lets go of it when it must stop.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

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

pin_project! {
    /// A guest and where it stands.
    pub(crate) struct GuestTask<F> {
        #[pin]
        guest: Option<F>,
        turns: Turns,
    }

    impl<F> PinnedDrop for GuestTask<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            // First the guest, then its place: whoever runs next finds the memory free.
            this.guest.set(None);
            this.turns.queue.leave(&this.turns.call);
        }
    }
}

/// What a guest has of the thread, and wants.
struct Turns {
    call: Arc<CallState>,
    queue: Arc<RunQueue>,
    waker: Waker,
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
    /// A guest that wants to run since `since`.
    pub(crate) fn new(call: Arc<CallState>, queue: Arc<RunQueue>, guest: F, since: Instant) -> Self {
        let turns = Turns {
            waker: Waker::from(Arc::clone(&call)),
            stage: Stage::Ready,
            since,
            used: Duration::ZERO,
            call,
            queue,
        };
        Self { guest: Some(guest), turns }
    }
}

impl Turns {
    /// Polls the guest until it ends, waits, or has used its quantum.
    fn run<F: Future>(&mut self, mut guest: Pin<&mut Option<F>>) -> Poll<Driven<F::Output>> {
        let start = Instant::now();
        add_time(&self.call.meters.queue_ns, start - self.since);
        let mut ctx = Context::from_waker(&self.waker);
        loop {
            let Some(running) = guest.as_mut().as_pin_mut() else {
                return Poll::Ready(Driven::Stopped);
            };
            self.call.begin_poll();
            // A panic of a host function must not take the worker's other guests with it. The guest's
            // store is dropped below and nothing else was borrowed.
            let polled = catch_unwind(AssertUnwindSafe(|| running.poll(&mut ctx)));
            let yielded = self.call.end_poll();
            let now = Instant::now();
            let ran = now - start;
            match polled {
                Ok(Poll::Ready(output)) => {
                    add_time(&self.call.meters.guest_ns, ran);
                    guest.set(None);
                    return Poll::Ready(Driven::Ended(output));
                }
                Err(panic) => {
                    guest.set(None);
                    return Poll::Ready(Driven::Panicked(panic_text(panic.as_ref())));
                }
                // Fuel yields come more often than ticks, and the first tick may come at once: stay on the
                // thread for at least half a quantum, so that a turn is one quantum on average.
                Ok(Poll::Pending) if yielded && ran < QUANTUM / 2 && self.call.stopped().is_none() => {}
                Ok(Poll::Pending) => {
                    add_time(&self.call.meters.guest_ns, ran);
                    self.used += ran;
                    self.since = now;
                    self.end_turn(yielded);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Makes room: for good while the guest waits in the host, until its next turn when it computes.
    fn end_turn(&mut self, yielded: bool) {
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

    /// Whether the guest has its turn; takes a place in the queue when it wants one.
    fn has_turn(&mut self) -> bool {
        if self.stage == Stage::Waiting {
            if !self.call.is_woken() {
                return false;
            }
            let now = Instant::now();
            add_time(&self.call.meters.host_wait_ns, now - self.since);
            self.since = now;
            self.stage = Stage::Ready;
        }
        if self.stage == Stage::Queued {
            return self.queue.is_granted(&self.call);
        }
        let class = self.class();
        if self.queue.request(&self.call, class) {
            return true;
        }
        self.stage = Stage::Queued;
        false
    }
}

impl<F: Future> Future for GuestTask<F> {
    type Output = Driven<F::Output>;

    fn poll(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let turns = this.turns;
        turns.call.drive_by(ctx.waker());
        if turns.call.stopped().is_some() {
            this.guest.set(None);
            return Poll::Ready(Driven::Stopped);
        }
        if turns.has_turn() { turns.run(this.guest) } else { Poll::Pending }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}

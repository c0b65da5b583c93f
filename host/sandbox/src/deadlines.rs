//! The thread that keeps every deadline: it answers the caller and stops the guest.
//!
//! It is a thread of its own because a timer beside busy guests is late by as many quanta as there are
//! guests. It sleeps until the earliest deadline it knew when it fell asleep, also when that call has
//! ended meanwhile; a new call wakes it only when it ends sooner. So a series of short calls with the
//! same timeout wakes it once per timeout and not once per call.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::call_state::{CallState, Stop};
use crate::error::SandboxError;

/// The calls in progress, by deadline.
#[derive(Debug)]
pub(crate) struct Deadlines {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    calls: BTreeMap<(Instant, u64), Arc<CallState>>,
    /// When the thread wakes by itself; never, when it slept without a deadline.
    wakes_at: Option<Instant>,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deadlines {
    pub(crate) fn start() -> Result<Self, SandboxError> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("hotcell-deadlines".into())
            .spawn(move || keep(&of_thread))
            .map_err(SandboxError::Thread)?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Keeps the deadline of a call until [`Deadlines::remove`]; a call that comes after the end is stopped at once.
    pub(crate) fn add(&self, call: &Arc<CallState>) {
        let mut state = self.shared.lock();
        if state.closed {
            drop(state);
            call.stop(Stop::Shutdown);
            return;
        }
        state.calls.insert((call.deadline, call.serial), Arc::clone(call));
        let too_late = state.wakes_at.is_none_or(|wakes_at| call.deadline < wakes_at);
        if too_late {
            // Whoever comes next need not wake the thread again.
            state.wakes_at = Some(call.deadline);
        }
        drop(state);
        if too_late {
            self.shared.changed.notify_one();
        }
    }

    /// Forgets a call that has ended.
    pub(crate) fn remove(&self, call: &CallState) {
        self.shared.lock().calls.remove(&(call.deadline, call.serial));
    }

    /// How many calls are in progress.
    pub(crate) fn len(&self) -> usize {
        self.shared.lock().calls.len()
    }

    /// Stops every call and ends the thread; waits for it.
    pub(crate) fn close(&self) {
        let calls = {
            let mut state = self.shared.lock();
            state.closed = true;
            std::mem::take(&mut state.calls)
        };
        self.shared.changed.notify_one();
        for call in calls.into_values() {
            call.stop(Stop::Shutdown);
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            drop(thread.join());
        }
    }
}

fn keep(shared: &Shared) {
    let mut state = shared.lock();
    while !state.closed {
        let now = Instant::now();
        state.wakes_at = state.calls.first_key_value().map(|((deadline, _), _)| *deadline);
        match state.wakes_at {
            None => state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(deadline) if deadline > now => {
                let wait = shared.changed.wait_timeout(state, deadline - now);
                state = wait.unwrap_or_else(PoisonError::into_inner).0;
            }
            Some(_) => {
                let due = state.calls.pop_first();
                drop(state);
                if let Some((_, call)) = due {
                    call.stop(Stop::Deadline);
                }
                state = shared.lock();
            }
        }
    }
}

//! Who runs next.
//!
//! A guest needs a permit to be polled and holds it for one quantum; there are as many permits as guest
//! threads. Those without wait here and not in the executor's own queue, for three reasons: a stopped
//! guest is removed at once instead of when its turn comes, guests that were just called or woken go
//! before guests that used up a quantum, and one principal with many guests does not starve another.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call_state::CallState;

/// After this many turns in a row for fresh guests one that used up a quantum gets a turn.
const FRESH_IN_A_ROW: u32 = 16;

/// The values of [`CallState::turn`].
const NONE: u8 = 0;
const QUEUED: u8 = 1;
const GRANTED: u8 = 2;

/// How a guest comes to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Just called, or woken from a wait in the host.
    Fresh,
    /// It computed for a whole quantum.
    Spent,
}

/// The permits and those who wait for one.
#[derive(Debug)]
pub(crate) struct RunQueue {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    fresh: Lane,
    spent: Lane,
    fresh_in_a_row: u32,
}

/// First come, first served per principal; principals take turns.
#[derive(Debug, Default)]
struct Lane {
    principals: VecDeque<(u64, VecDeque<Arc<CallState>>)>,
}

impl Lane {
    fn push(&mut self, call: Arc<CallState>) {
        match self.principals.iter_mut().find(|(principal, _)| *principal == call.principal) {
            Some((_, calls)) => calls.push_back(call),
            None => self.principals.push_back((call.principal, VecDeque::from([call]))),
        }
    }

    /// The next call that still waits; those that were stopped meanwhile are dropped.
    fn pop(&mut self) -> Option<Arc<CallState>> {
        while let Some((principal, mut calls)) = self.principals.pop_front() {
            let next = loop {
                match calls.pop_front() {
                    Some(call) if call.turn.load(Ordering::Relaxed) == QUEUED => break Some(call),
                    Some(_stopped) => {}
                    None => break None,
                }
            };
            if !calls.is_empty() {
                self.principals.push_back((principal, calls));
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }
}

impl RunQueue {
    pub(crate) fn new(permits: usize) -> Self {
        let state =
            State { free: permits, fresh: Lane::default(), spent: Lane::default(), fresh_in_a_row: 0 };
        Self { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit, or waits in the queue; says whether the permit was taken.
    pub(crate) fn request(&self, call: &Arc<CallState>, class: Class) -> bool {
        let mut state = self.lock();
        if state.free > 0 {
            state.free -= 1;
            call.turn.store(GRANTED, Ordering::Relaxed);
            return true;
        }
        state.enqueue(call, class);
        false
    }

    /// Whether a waiting call has got its permit.
    pub(crate) fn is_granted(&self, call: &CallState) -> bool {
        let _state = self.lock();
        call.turn.load(Ordering::Relaxed) == GRANTED
    }

    /// Gives the permit back and waits for the next; the caller is woken when it comes.
    pub(crate) fn take_turns(&self, call: &Arc<CallState>) {
        let mut state = self.lock();
        state.enqueue(call, Class::Spent);
        let next = state.grant_next();
        drop(state);
        if let Some(next) = next {
            next.wake_task();
        }
    }

    /// Gives back whatever the call has: a permit, or its place in the queue.
    pub(crate) fn leave(&self, call: &CallState) {
        let mut state = self.lock();
        let next = match call.turn.swap(NONE, Ordering::Relaxed) {
            GRANTED => state.grant_next(),
            _ => None,
        };
        drop(state);
        if let Some(next) = next {
            next.wake_task();
        }
    }
}

impl State {
    fn enqueue(&mut self, call: &Arc<CallState>, class: Class) {
        call.turn.store(QUEUED, Ordering::Relaxed);
        match class {
            Class::Fresh => self.fresh.push(Arc::clone(call)),
            Class::Spent => self.spent.push(Arc::clone(call)),
        }
    }

    /// Passes a permit on to whoever is next, or puts it back.
    fn grant_next(&mut self) -> Option<Arc<CallState>> {
        let spent_first = self.fresh_in_a_row >= FRESH_IN_A_ROW;
        let next = if spent_first { self.spent.pop().or_else(|| self.fresh.pop()) } else { self.fresh.pop() };
        let next = if next.is_some() && !spent_first {
            self.fresh_in_a_row += 1;
            next
        } else {
            self.fresh_in_a_row = 0;
            next.or_else(|| self.spent.pop())
        };
        match &next {
            Some(call) => call.turn.store(GRANTED, Ordering::Relaxed),
            None => self.free += 1,
        }
        next
    }
}

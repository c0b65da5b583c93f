//! Who waits for what: plain data behind one lock.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use hotcell_core::ids::Digest;

use super::ticket::Update;
use super::{Compiled, QueueGauges, QueueLimits, Source};
use crate::cancel::Cancel;
use crate::error::CompileError;

/// Tickets for one component.
const MAX_TICKETS: usize = 1_024;

/// Which ticket for which job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    job: u64,
    ticket: u64,
}

/// A job that a thread has to do.
pub(super) struct Order {
    pub(super) job: u64,
    pub(super) digest: Digest,
    pub(super) source: Source,
    pub(super) cancel: Arc<Cancel>,
}

/// What came of [`Line::enter`].
pub(super) struct Entered {
    pub(super) place: Place,
    /// A job that needs a new thread.
    pub(super) begin: Option<Order>,
}

/// All jobs.
#[derive(Debug, Default)]
pub(super) struct Line {
    jobs: HashMap<u64, Job>,
    /// The job for a component that further loads may join.
    by_digest: HashMap<Digest, u64>,
    waiting: VecDeque<u64>,
    running: usize,
    next_number: u64,
    closed: bool,
    /// Those to be woken, and those nobody needs any more. Both are let go without the lock, because the last
    /// waker of a task may drop a ticket.
    pub(super) wakers: Wakers,
}

#[derive(Debug, Default)]
pub(super) struct Wakers {
    wake: Vec<Waker>,
    discard: Vec<Waker>,
}

impl Wakers {
    /// Comes after the lock was given up.
    pub(super) fn let_go(self) {
        drop(self.discard);
        self.wake.into_iter().for_each(Waker::wake);
    }
}

/// One component that is compiled for everybody who wants it.
#[derive(Debug)]
struct Job {
    digest: Digest,
    phase: Phase,
    /// Each with how to wake it, once it waits.
    tickets: BTreeMap<u64, Option<Waker>>,
}

enum Phase {
    Waiting(Source),
    Running(Arc<Cancel>),
    Done(Result<Compiled, CompileError>),
}

impl std::fmt::Debug for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Waiting(_) => "Waiting",
            Self::Running(_) => "Running",
            Self::Done(_) => "Done",
        })
    }
}

impl Line {
    pub(super) fn gauges(&self) -> QueueGauges {
        QueueGauges { running: self.running, waiting: self.waiting.len() }
    }

    /// Joins the job for the component, or adds one: running when a thread may begin, else at the end of the line.
    pub(super) fn enter(
        &mut self,
        digest: Digest,
        source: Source,
        limits: QueueLimits,
    ) -> Result<Entered, CompileError> {
        if self.closed {
            return Err(CompileError::Cancelled);
        }
        let overloaded = |waiting| Err(CompileError::Overloaded { waiting });
        let ticket = self.number();
        if let Some(&job) = self.by_digest.get(&digest)
            && let Some(known) = self.jobs.get_mut(&job)
        {
            if known.tickets.len() >= MAX_TICKETS {
                return overloaded(known.tickets.len());
            }
            known.tickets.insert(ticket, None);
            return Ok(Entered { place: Place { job, ticket }, begin: None });
        }
        let begins = self.running < limits.workers.get() && self.waiting.is_empty();
        if !begins && self.waiting.len() >= limits.waiting {
            return overloaded(self.waiting.len());
        }
        let job = self.number();
        let tickets = BTreeMap::from([(ticket, None)]);
        self.jobs.insert(job, Job { digest, phase: Phase::Waiting(source), tickets });
        self.by_digest.insert(digest, job);
        let begin = if begins {
            self.running += 1;
            self.begin(job)
        } else {
            self.waiting.push_back(job);
            None
        };
        Ok(Entered { place: Place { job, ticket }, begin })
    }

    /// What a ticket is to be told, when it is not what it was told last; else it is woken when there is something.
    pub(super) fn poll(&mut self, place: Place, told: Option<&Update>, waker: &Waker) -> Option<Update> {
        let Some(job) = self.jobs.get_mut(&place.job) else {
            // Cannot be: a job stays while it has a ticket.
            return Some(Update::Done(Err(CompileError::Cancelled)));
        };
        let update = match &job.phase {
            Phase::Waiting(_) => {
                let ahead = self.waiting.iter().position(|waiting| *waiting == place.job);
                Update::Queued { place: ahead.unwrap_or(0) + 1, of: self.waiting.len() }
            }
            Phase::Running(_) => Update::Compiling,
            Phase::Done(result) => return Some(Update::Done(result.clone())),
        };
        if told.is_some_and(|told| told.is_same_place(&update)) {
            let known = job.tickets.entry(place.ticket).or_default();
            if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
                self.wakers.discard.extend(known.replace(waker.clone()));
            }
            return None;
        }
        Some(update)
    }

    /// Gives a ticket back. When it was the last one for a job, the job is stopped if it can be.
    pub(super) fn leave(&mut self, place: Place, can_be_stopped: bool) {
        let Some(job) = self.jobs.get_mut(&place.job) else { return };
        self.wakers.discard.extend(job.tickets.remove(&place.ticket).flatten());
        if !job.tickets.is_empty() {
            return;
        }
        match &job.phase {
            // It goes on and fills the cache, and whoever comes meanwhile may join.
            Phase::Running(_) if !can_be_stopped => return,
            Phase::Running(cancel) => cancel.cancel(),
            Phase::Waiting(_) => self.waiting.retain(|waiting| *waiting != place.job),
            Phase::Done(_) => {}
        }
        self.forget(place.job);
        self.wake_waiting();
    }

    /// Takes the result of a job, and gives the thread its next one.
    pub(super) fn finish(&mut self, done: u64, result: Result<Compiled, CompileError>) -> Option<Order> {
        if let Some(job) = self.jobs.get_mut(&done) {
            job.phase = Phase::Done(result);
            job.wake(&mut self.wakers);
            let (digest, is_over) = (job.digest, job.tickets.is_empty());
            // A failure is shared with those who waited, and nobody else.
            if self.by_digest.get(&digest) == Some(&done) {
                self.by_digest.remove(&digest);
            }
            if is_over {
                self.jobs.remove(&done);
            }
        }
        let next = self.waiting.pop_front().and_then(|job| self.begin(job));
        match next {
            Some(_) => self.wake_waiting(),
            None => self.running -= 1,
        }
        next
    }

    /// Ends everything; who waits is told.
    pub(super) fn close(&mut self, can_be_stopped: bool) {
        self.closed = true;
        self.waiting.clear();
        for job in self.jobs.values_mut() {
            match &job.phase {
                Phase::Running(cancel) if can_be_stopped => cancel.cancel(),
                Phase::Waiting(_) => job.phase = Phase::Done(Err(CompileError::Cancelled)),
                Phase::Running(_) | Phase::Done(_) => {}
            }
            job.wake(&mut self.wakers);
        }
    }

    /// Makes a waiting job a running one.
    fn begin(&mut self, number: u64) -> Option<Order> {
        let job = self.jobs.get_mut(&number)?;
        let cancel = Arc::new(Cancel::default());
        let running = Phase::Running(Arc::clone(&cancel));
        let Phase::Waiting(source) = std::mem::replace(&mut job.phase, running) else { return None };
        job.wake(&mut self.wakers);
        Some(Order { job: number, digest: job.digest, source, cancel })
    }

    fn forget(&mut self, number: u64) {
        if let Some(job) = self.jobs.remove(&number)
            && self.by_digest.get(&job.digest) == Some(&number)
        {
            self.by_digest.remove(&job.digest);
        }
    }

    /// Whoever waits has another place now.
    fn wake_waiting(&mut self) {
        for number in &self.waiting {
            if let Some(job) = self.jobs.get_mut(number) {
                job.wake(&mut self.wakers);
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}

impl Job {
    fn wake(&mut self, wakers: &mut Wakers) {
        wakers.wake.extend(self.tickets.values_mut().filter_map(Option::take));
    }
}

//! Who compiles when: few at once, one at a time for each component, first come first served.
//!
//! A compile takes seconds and all of a processor, so only so many run; the others stand in a line of bounded length
//! and know their place. Two loads of the same bytes share one compile: both get its artifact or its error, and
//! an error is not kept for a third. Whoever drops its [`Ticket`] leaves at once, and when nobody is left who waits for
//! a component, its compile is stopped.
//!
//! The line holds no components: each is read when its turn comes (`Source`), so 50 that wait cost
//! no more memory than one.
//!
//! Threads exist only while something compiles; each takes the next of the line when it is done, and ends when there is
//! none.

mod job;
mod line;
mod ticket;

use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hotcell_core::artifact::Artifact;
use hotcell_core::ids::Digest;

use crate::cache::{ArtifactCache, CacheError};
use crate::compile::Compiler;
use crate::error::CompileError;
use line::Line;

pub use ticket::{Ticket, Update};

/// How long dropping the queue waits for compile processes that were just killed.
const GRACE: Duration = Duration::from_secs(2);

/// How much may compile and wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Compiles at once.
    pub workers: NonZeroUsize,
    /// Components that may wait for one; the next is [`CompileError::Overloaded`].
    pub waiting: usize,
}

impl Default for QueueLimits {
    /// Half of the processors, at least one; 64 wait.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { workers: NonZeroUsize::new(processors / 2).unwrap_or(NonZeroUsize::MIN), waiting: 64 }
    }
}

/// Reads a component when its turn comes. Bytes of another digest are refused.
pub type Source = Box<dyn FnOnce() -> Result<Box<dyn AsRef<[u8]>>, CompileError> + Send>;

/// What a compile came to.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The artifact.
    pub artifact: Artifact,
    /// How long the compile took; zero when another process had made the artifact meanwhile.
    pub took: Duration,
    /// Why the artifact was not kept in the cache, when it was not.
    pub not_kept: Option<CacheError>,
}

/// A compiler, the cache it fills, and the line in front of it.
#[derive(Debug)]
pub struct CompileQueue {
    shared: Arc<Shared>,
}

/// What tickets and working threads hold.
#[derive(Debug)]
struct Shared {
    compiler: Compiler,
    cache: ArtifactCache,
    limits: QueueLimits,
    line: Mutex<Line>,
    /// Told when a thread ends.
    idle: Condvar,
}

/// What the queue is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueGauges {
    /// Threads that compile, or just stopped doing so.
    pub running: usize,
    /// Components that wait.
    pub waiting: usize,
}

impl CompileQueue {
    /// A queue in front of this compiler; what it makes is kept in the cache. No thread is started yet.
    #[must_use]
    pub fn new(compiler: Compiler, cache: ArtifactCache, limits: QueueLimits) -> Self {
        let shared =
            Shared { compiler, cache, limits, line: Mutex::new(Line::default()), idle: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// The compiler.
    #[must_use]
    pub fn compiler(&self) -> &Compiler {
        &self.shared.compiler
    }

    /// The cache.
    #[must_use]
    pub fn cache(&self) -> &ArtifactCache {
        &self.shared.cache
    }

    /// What it is doing.
    #[must_use]
    pub fn gauges(&self) -> QueueGauges {
        self.shared.with_line(|line| line.gauges())
    }

    /// Takes a place in the line for the component with this digest, or joins those who wait for it already.
    /// Does not block.
    ///
    /// # Errors
    /// [`CompileError::Overloaded`] when too many wait, [`CompileError::Internal`] when the system gives no thread.
    pub fn enter(&self, digest: Digest, source: Source) -> Result<Ticket, CompileError> {
        let limits = self.shared.limits;
        let entered = self.shared.with_line(|line| line.enter(digest, source, limits))?;
        let ticket = Ticket::new(Arc::clone(&self.shared), entered.place);
        if let Some(order) = entered.begin {
            job::start(&self.shared, order)?;
        }
        Ok(ticket)
    }
}

impl Drop for CompileQueue {
    /// Stops what compiles, and waits until its processes and temporary files are gone.
    fn drop(&mut self) {
        let can_be_stopped = self.shared.compiler.can_be_stopped();
        self.shared.with_line(|line| line.close(can_be_stopped));
        if !can_be_stopped {
            return;
        }
        let end = Instant::now() + GRACE;
        let mut line = self.shared.lock();
        while line.gauges().running > 0 && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            let waited = self.shared.idle.wait_timeout(line, left);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    /// Does something with the line, then wakes whom that concerns.
    fn with_line<T>(&self, change: impl FnOnce(&mut Line) -> T) -> T {
        let mut line = self.lock();
        let result = change(&mut line);
        let wakers = std::mem::take(&mut line.wakers);
        drop(line);
        wakers.let_go();
        result
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        // What is done under the lock leaves the line whole also when it panics.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

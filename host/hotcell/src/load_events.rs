//! What a load tells while it waits.

use std::time::Duration;

/// Told how loads get on: of each that waits or compiles, and of each end.
///
/// Called by the task that loads; it must return soon and must not block.
pub trait LoadObserver: Send + Sync {
    /// Something changed, or a fifth of a second passed.
    fn progress(&self, event: &LoadEvent<'_>);
}

/// How one load gets on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadEvent<'a> {
    /// What is loaded: the file's stem, or the name the program gave.
    pub name: &'a str,
    /// How far it is.
    pub progress: LoadProgress,
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadProgress {
    /// It waits for others to be compiled.
    Queued {
        /// Its place, from 1: the next to be compiled.
        place: usize,
        /// How many wait.
        of: usize,
    },
    /// It is being compiled.
    Compiling {
        /// For how long.
        since: Duration,
    },
    /// There is an artifact.
    Done {
        /// How long the compile took; zero when there was none.
        took: Duration,
        /// Whether the artifact was in the cache.
        from_cache: bool,
    },
    /// It failed or was given up; whoever loads has the reason.
    Stopped,
}

/// Tells an observer about one load, also when the load is dropped.
pub(crate) struct Watch<'a> {
    observer: Option<&'a dyn LoadObserver>,
    name: &'a str,
    ended: bool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(observer: Option<&'a dyn LoadObserver>, name: &'a str) -> Self {
        Self { observer, name, ended: false }
    }

    pub(crate) fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    pub(crate) fn say(&mut self, progress: LoadProgress) {
        self.ended |= matches!(progress, LoadProgress::Done { .. } | LoadProgress::Stopped);
        if let Some(observer) = self.observer {
            observer.progress(&LoadEvent { name: self.name, progress });
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.say(LoadProgress::Stopped);
        }
    }
}

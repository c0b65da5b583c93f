//! What the host does for guests while they run: it keeps log records, passes progress on, and tells the
//! time and random numbers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use hotcell_core::ids::{CallId, ToolName};
use hotcell_core::services::{HostServices, LogRecord, Progress};
use hotcell_core::tool::ProgressSink;

/// One log record of a guest with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestLog {
    /// The call that wrote it.
    pub call: CallId,
    /// The tool that was called.
    pub tool: ToolName,
    /// What it wrote; data, never a format string.
    pub record: LogRecord,
}

/// Where log records of guests go. Called on a guest thread: return at once.
pub trait LogSink: Send + Sync {
    /// Takes one record, already capped in size and number.
    fn log(&self, log: GuestLog);
}

/// Keeps the newest log records and counts those it let go.
#[derive(Debug)]
pub struct LogRing {
    capacity: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    records: VecDeque<GuestLog>,
    dropped: u64,
}

impl LogRing {
    /// A ring of at most `capacity` records.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, kept: Mutex::default() }
    }

    /// Takes out every record, oldest first, and how many were let go since the last time.
    pub fn take(&self) -> (Vec<GuestLog>, u64) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        (kept.records.into(), kept.dropped)
    }
}

impl LogSink for LogRing {
    fn log(&self, log: GuestLog) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.records.len() >= self.capacity {
            kept.records.pop_front();
            kept.dropped += 1;
        }
        if self.capacity > 0 {
            kept.records.push_back(log);
        }
    }
}

/// The host's side of one call.
pub(crate) struct CallServices {
    pub(crate) call: CallId,
    pub(crate) tool: ToolName,
    pub(crate) progress: Arc<dyn ProgressSink>,
    pub(crate) log: Arc<dyn LogSink>,
}

impl HostServices for CallServices {
    fn log(&self, record: LogRecord) {
        self.log.log(GuestLog { call: self.call.clone(), tool: self.tool.clone(), record });
    }

    fn progress(&self, progress: Progress) {
        self.progress.progress(progress);
    }

    fn wall_clock(&self) -> Duration {
        wall_clock()
    }

    fn random(&self, buffer: &mut [u8]) {
        fill_random(buffer);
    }
}

/// Serves a component that is asked for its definitions: nobody listens to it.
pub(crate) struct DefinitionServices;

impl HostServices for DefinitionServices {
    fn log(&self, _record: LogRecord) {}

    fn progress(&self, _progress: Progress) {}

    fn wall_clock(&self) -> Duration {
        wall_clock()
    }

    fn random(&self, buffer: &mut [u8]) {
        fill_random(buffer);
    }
}

#[expect(clippy::disallowed_methods, reason = "the facade is where the clock is read")]
fn wall_clock() -> Duration {
    // A clock set before 1970 reads as 1970.
    std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn fill_random(buffer: &mut [u8]) {
    getrandom::fill(buffer).expect("the source of randomness gave bytes when the sandbox was made");
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotcell_core::services::LogLevel;

    fn record(message: &str) -> GuestLog {
        GuestLog {
            call: CallId::parse("c").unwrap(),
            tool: ToolName::parse("t").unwrap(),
            record: LogRecord { level: LogLevel::Info, message: message.into(), fields: Vec::new() },
        }
    }

    #[test]
    fn the_ring_keeps_the_newest_and_counts_the_rest() {
        let ring = LogRing::new(2);
        for message in ["a", "b", "c"] {
            ring.log(record(message));
        }
        assert_eq!(ring.take(), (vec![record("b"), record("c")], 1));
        assert_eq!(ring.take(), (Vec::new(), 0));
    }

    #[test]
    fn a_ring_without_room_keeps_nothing() {
        let ring = LogRing::new(0);
        ring.log(record("a"));
        assert_eq!(ring.take(), (Vec::new(), 1));
    }
}

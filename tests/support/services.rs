//! Host services that remember what guests said.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hotcell_core::services::{HostServices, LogRecord, Progress};

/// Keeps log records and progress; the clock stands still and randomness counts up.
#[derive(Debug, Default)]
pub struct Recorder {
    logs: Mutex<Vec<LogRecord>>,
    progress: Mutex<Vec<Progress>>,
    random: AtomicU64,
    panics: bool,
}

impl Recorder {
    /// Services whose log panics, as a faulty host would.
    #[must_use]
    pub fn panicking() -> Self {
        Self { panics: true, ..Self::default() }
    }

    /// The log records so far.
    #[must_use]
    pub fn logs(&self) -> Vec<LogRecord> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The progress reports so far.
    #[must_use]
    pub fn progress_reports(&self) -> Vec<Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl HostServices for Recorder {
    fn log(&self, record: LogRecord) {
        assert!(!self.panics, "a fault of the host, on purpose");
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    fn progress(&self, progress: Progress) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).push(progress);
    }

    fn wall_clock(&self) -> Duration {
        Duration::from_micros(1_700_000_000_123_456)
    }

    fn random(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let next =
                self.random.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
            for (byte, value) in chunk.iter_mut().zip(next) {
                *byte = value;
            }
        }
    }
}

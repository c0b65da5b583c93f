//! The host's services in native code: nothing outside of a test, a recording inside of one.

use std::cell::RefCell;
use std::time::Duration;

use crate::log::Level;
use crate::testing::{LogRecord, ProgressReport};

/// Records kept per call; a test that logs in a loop ends with a full list, not a full memory.
const MAX_RECORDS: usize = 10_000;

/// What a call in a test sees and leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) remaining: Option<Duration>,
    pub(crate) cancelled: bool,
    pub(crate) logs: Vec<LogRecord>,
    pub(crate) progress: Vec<ProgressReport>,
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// Runs `call` with a recording; the one that was active before, if any, is active again afterwards.
pub(crate) fn record<T>(recording: Recording, call: impl FnOnce() -> T) -> (T, Recording) {
    /// Puts the earlier recording back, also when the call panics.
    struct Restore(Option<Recording>);
    impl Drop for Restore {
        fn drop(&mut self) {
            RECORDING.set(self.0.take());
        }
    }
    let restore = Restore(RECORDING.replace(Some(recording)));
    let result = call();
    let recording = RECORDING.take().unwrap_or_default();
    drop(restore);
    (result, recording)
}

fn with<T>(read: impl FnOnce(&mut Recording) -> T) -> Option<T> {
    RECORDING.with_borrow_mut(|recording| recording.as_mut().map(read))
}

pub(crate) fn log(level: Level, message: &str, fields: &[(&str, &str)]) {
    with(|recording| {
        if recording.logs.len() < MAX_RECORDS {
            let fields = fields.iter().map(|&(name, value)| (name.into(), value.into())).collect();
            recording.logs.push(LogRecord { level, message: message.into(), fields });
        }
    });
}

pub(crate) fn progress(done: u64, total: Option<u64>, note: Option<&str>) {
    with(|recording| {
        if recording.progress.len() < MAX_RECORDS {
            recording.progress.push(ProgressReport { done, total, note: note.map(Into::into) });
        }
    });
}

pub(crate) fn remaining() -> Duration {
    with(|recording| recording.remaining).flatten().unwrap_or(Duration::MAX)
}

pub(crate) fn cancelled() -> bool {
    with(|recording| recording.cancelled).unwrap_or(false)
}

//! What a guest may ask of the host, as one trait: the sandbox forwards, the host decides.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One line a guest wrote to the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// How important the guest says it is.
    pub level: LogLevel,
    /// The guest's words, capped; data, never a format string.
    pub message: String,
    /// Named values.
    pub fields: Vec<(String, String)>,
}

/// How important a log record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Everything.
    Trace,
    /// For the author of the tool.
    Debug,
    /// Worth knowing.
    Info,
    /// Unexpected, and handled.
    Warn,
    /// A failure.
    Error,
}

/// How far a call has come, in units of the tool's choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Units done.
    pub done: u64,
    /// Units in all, when the tool knows.
    pub total: Option<u64>,
    /// The guest's words, capped.
    pub note: Option<String>,
}

/// The host's side of a call. Implementations return at once: they keep, count or drop, and never block.
pub trait HostServices: Send + Sync {
    /// Takes a log record; already capped in size and number.
    fn log(&self, record: LogRecord);

    /// Takes a progress report; the newest one counts.
    fn progress(&self, progress: Progress);

    /// The time since the Unix epoch; the sandbox coarsens it to milliseconds.
    fn wall_clock(&self) -> Duration;

    /// Fills the buffer with random bytes that no guest can foresee.
    fn random(&self, buffer: &mut [u8]);
}

//! Notes for whoever operates the tool.
//!
//! A note never fails and never waits: the host cuts long notes, keeps a limited number per call and
//! counts the rest. In native code notes go nowhere, except inside of
//! [`testing::Call`](crate::testing::Call), which keeps them.
//!
//! ```
//! use hotcell_tool::log;
//!
//! log::info("read the price list");
//! log::write(log::Level::Warn, "a row was skipped", &[("row", "17")]);
//! ```

use crate::host;

/// How important a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
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

/// Writes one note with named values.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    host::log(level, message, fields);
}

/// Writes a note about everything.
pub fn trace(message: impl AsRef<str>) {
    write(Level::Trace, message.as_ref(), &[]);
}

/// Writes a note for the author of the tool.
pub fn debug(message: impl AsRef<str>) {
    write(Level::Debug, message.as_ref(), &[]);
}

/// Writes a note that is worth knowing.
pub fn info(message: impl AsRef<str>) {
    write(Level::Info, message.as_ref(), &[]);
}

/// Writes a note about something unexpected that was handled.
pub fn warn(message: impl AsRef<str>) {
    write(Level::Warn, message.as_ref(), &[]);
}

/// Writes a note about a failure.
pub fn error(message: impl AsRef<str>) {
    write(Level::Error, message.as_ref(), &[]);
}

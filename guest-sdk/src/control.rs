//! What a call may know about its own end.

use std::time::Duration;

use crate::host;

/// The time until the host ends the call, in steps of a millisecond.
///
/// A tool that works in steps returns what it has before the time is up; the host does not wait.
/// In native code there is no end: [`Duration::MAX`], except inside of
/// [`testing::Call`](crate::testing::Call).
#[must_use]
pub fn remaining() -> Duration {
    host::remaining()
}

/// Whether the caller has given up; the host ends the call soon after.
///
/// In native code `false`, except inside of [`testing::Call`](crate::testing::Call).
#[must_use]
pub fn cancelled() -> bool {
    host::cancelled()
}

//! How far a call has come.
//!
//! A report never fails and never waits; the newest one counts and older ones may be dropped.
//! In native code reports go nowhere, except inside of [`testing::Call`](crate::testing::Call), which
//! keeps them.

use crate::host;

/// Reports that `done` units of the tool's choice are done, of `total` when that is known.
pub fn report(done: u64, total: Option<u64>) {
    host::progress(done, total, None);
}

/// Reports progress with a few words for people.
pub fn report_with(done: u64, total: Option<u64>, note: &str) {
    host::progress(done, total, Some(note));
}

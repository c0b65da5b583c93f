//! Compiling in real processes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod bombs;
mod crash;
mod isolation;
mod support;
mod worker;

//! Compiling in real processes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod crash;
mod support;
mod worker;

//! The door alone, without a run.

mod admission;
mod alone;
mod retry;
mod running;
mod support;

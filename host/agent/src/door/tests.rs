//! The door alone, without a run.

mod admission;
mod retry;
mod running;
mod support;

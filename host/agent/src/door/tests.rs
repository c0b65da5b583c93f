//! The door alone, without a run.

mod admission;
mod running;
mod support;

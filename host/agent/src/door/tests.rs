//! The door alone, without a run.

mod admission;
mod alone;
mod hostile;
mod matrix;
mod retry;
mod running;
mod support;

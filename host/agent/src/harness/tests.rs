//! Whole runs in this process.

mod endings;
mod events;
mod faults;
mod kept;
mod loops;
mod promises;
mod recoveries;
mod repetition;
mod replay;
mod shortfalls;
mod standing;
mod support;
mod time;

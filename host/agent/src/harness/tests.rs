//! Whole runs in this process.

mod endings;
mod events;
mod faults;
mod kept;
mod loops;
mod promises;
mod replay;
mod shortfalls;
mod support;
mod time;

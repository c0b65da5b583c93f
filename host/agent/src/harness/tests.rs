//! Whole runs in this process.

mod endings;
mod events;
mod faults;
mod loops;
mod replay;
mod support;
mod time;

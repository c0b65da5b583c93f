//! Whole runs in this process.

mod approvals;
mod bound;
mod endings;
mod events;
mod faults;
mod history;
mod hostile;
mod kept;
mod loops;
mod middleware;
mod names;
mod promises;
mod recoveries;
mod repeats;
mod repetition;
mod replay;
mod sequences;
mod session;
mod shortfalls;
mod standing;
mod support;
mod time;
mod tries;
mod watchers;

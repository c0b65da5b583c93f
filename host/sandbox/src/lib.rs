//! Runs compiled components: artifact, grants, limits and input go in; outcome, content and usage come out.
//!
//! A [`Sandbox`] owns an engine with a pool of instances, the threads guests run on, a thread that keeps
//! deadlines and one that ticks. [`Sandbox::load`] takes an artifact, [`LoadedComponent::prepare`] opens the
//! grants, and [`Prepared::call`] runs one tool in a fresh instance.
//!
//! This crate knows nothing of models, policies or conversations, and compiles nothing.
//! Start reading at [`Prepared`], then `guest_task.rs` (how a guest gets its turns) and `report.rs`
//! (how it can end).

mod abi;
mod call_state;
mod component;
mod config;
mod deadlines;
mod engine;
mod error;
mod grants;
mod guest;
mod guest_task;
mod host;
mod imports;
mod limiter;
mod output;
mod report;
mod run_queue;
mod sandbox;
mod ticker;

pub use component::{LoadedComponent, Prepared};
pub use config::{GuestGone, Observer, SandboxConfig};
pub use error::SandboxError;
pub use sandbox::{Gauges, Sandbox};

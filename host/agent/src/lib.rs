//! The loop, and the one door through which every tool call goes.
//!
//! In: a model, tools, and a request. Out: a result that always holds the whole transcript.
//! This crate sees the `Tool` trait and knows nothing of wasm, of vendors, of the terminal, of the
//! environment; ids and time are passed in.
//!
//! Start reading at [`machine`] (the run as a pure state machine), then [`door`] (one call), then
//! [`harness`] (what drives both in this process).

pub mod answer;
pub mod clock;
pub mod door;
pub mod harness;
pub mod host_tool;
pub mod machine;
pub mod schema;
pub mod scripted_model;
pub mod shape;
pub mod status;
pub mod tool_set;
mod wording;

pub use answer::Answer;
pub use clock::{Clock, TokioClock};
pub use door::{Admission, Asked, Consent, Door, DoorRequest};
pub use harness::{CallRecord, Harness, HarnessConfig, RunError, RunRequest, RunResult};
pub use host_tool::HostTool;
pub use machine::{Command, CommandId, CommandOutcome, RunMachine};
pub use scripted_model::ScriptedModel;
pub use status::{ErrorKind, RunErrorInfo, RunStatus, StopReason};
pub use tool_set::{Offer, ToolSet, ToolSetError};

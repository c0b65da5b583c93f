//! The loop, and the one door through which every tool call goes.
//!
//! In: a model, tools, and a request. Out: a result that always holds the whole transcript.
//! This crate sees the `Tool` trait and knows nothing of wasm, of vendors, of the terminal, of the
//! environment; ids and time are passed in.
//!
//! Start reading at [`machine`] (the run as a pure state machine), then [`door`] (one call), then
//! [`harness`] (what drives both in this process).
//!
//! ```
//! use std::sync::Arc;
//!
//! use hotcell_agent::scripted_model::{call_reply, text_reply};
//! use hotcell_agent::{Harness, HostTool, Offer, RunRequest, ScriptedModel, TokioClock, ToolSet};
//! use hotcell_core::ids::RunId;
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let double = HostTool::define("double", "Doubles a number.")?
//!     .input_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
//!     .pure() // reaches nothing outside of the call, so it runs without asking
//!     .handler(|arguments| async move { json!(arguments["n"].as_i64().unwrap_or(0) * 2) });
//! let tools = ToolSet::new([Offer::new(double, "")])?;
//! let model = ScriptedModel::new([
//!     Ok(call_reply([("c1", "double", r#"{"n": 21}"#)])),
//!     Ok(text_reply("It is 42.")),
//! ]);
//!
//! let harness = Harness::new(Arc::new(model), Arc::new(tools), Arc::new(TokioClock));
//! let request = RunRequest::new(RunId::parse("run-1")?, "What is twice 21?");
//! let result = harness.run(request).await?.into_result()?;
//! assert_eq!(result.output.as_deref(), Some("It is 42."));
//! assert_eq!(result.tool_calls, 1);
//! # Ok(())
//! # }
//! ```

pub mod answer;
pub mod ask_user;
pub mod clock;
pub mod door;
pub mod harness;
pub mod host_tool;
mod leave_for_later;
pub mod machine;
pub mod memory_results;
pub mod oversized;
pub mod schema;
pub mod scripted_model;
pub mod shape;
pub mod status;
pub mod tool_set;
mod wording;

pub use answer::Answer;
pub use ask_user::AskUser;
pub use clock::{Clock, TokioClock};
pub use door::{Admission, Asked, Consent, Door, DoorRequest, SessionGrants};
pub use harness::{
    CallRecord, EventSender, Events, Harness, HarnessConfig, PendingCall, PendingStatus, ResumeError,
    ResumeRequest, RunError, RunRequest, RunResult, RunStream, RunWarning, SuspendedRun, event_channel,
};
pub use host_tool::HostTool;
pub use leave_for_later::LeaveForLater;
pub use machine::{Command, CommandId, CommandOutcome, RunMachine};
pub use memory_results::MemoryResults;
pub use scripted_model::ScriptedModel;
pub use status::{ErrorKind, RunErrorInfo, RunStatus, StopReason};
pub use tool_set::{Offer, ToolSet, ToolSetError};

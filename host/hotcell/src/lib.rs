//! Hotcell lets an agent use tools nobody has to trust: the loop runs natively, each tool is a WebAssembly
//! component, each call gets a fresh instance, a budget that preempts, and only the grants an operator wrote down.
//!
//! This crate is what an embedding program depends on, and the only place that reads the environment, the
//! clock and randomness. An agent with a tool that is code of the program itself:
//!
//! ```
//! use hotcell::{Agent, HostTool, ScriptedModel, call_reply, text_reply};
//! use serde_json::{Value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let double = HostTool::define("double", "Double a number.")?
//!     .input_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
//!     .pure()
//!     .handler(|arguments: Value| async move { json!(arguments["n"].as_i64().unwrap_or_default() * 2) });
//! let model = ScriptedModel::new([
//!     Ok(call_reply([("c1", "double", r#"{"n": 21}"#)])),
//!     Ok(text_reply("It is 42.")),
//! ]);
//!
//! let agent = Agent::builder(model).tools(double).build()?;
//! let result = agent.run("What is twice 21?").await?.into_result()?;
//! assert_eq!(result.output.as_deref(), Some("It is 42."));
//! assert_eq!(result.calls.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! A tool that is a component comes from a `Sandbox`; the program's `main` must start with
//! `worker_main`, because components are compiled in a child process of the same program. `Compile` names the
//! other ways, and `docs/embedding.md` of the repository describes them, the cache, and the line in front of it:
//!
//! ```no_run
//! # #[cfg(feature = "sandbox")]
//! # async fn example(model: hotcell::ScriptedModel) -> Result<(), Box<dyn std::error::Error>> {
//! use hotcell::{Agent, Compile, Grants, Sandbox, SandboxConfig, parse_grant};
//!
//! let sandbox = Sandbox::new(SandboxConfig::new(Compile::worker()))?;
//! let mut files = Grants::default();
//! files.add(parse_grant("files=./notes:/notes:ro")?)?;
//! let notes = sandbox.load("tools/notes.wasm").await?.grant(files);
//! let agent = Agent::builder(model).tools(notes).build()?;
//! let result = agent.run("What changed this week?").await?.into_result()?;
//! # Ok(())
//! # }
//! ```
//!
//! Start reading at [`Agent`], then `Sandbox` and `Component`.

mod agent;
mod environment;
mod policy_file;
mod regular_file;
mod result_folder;
mod run_limits;
mod tools;

#[cfg(feature = "providers")]
mod models;

#[cfg(feature = "sandbox")]
mod advisories;
#[cfg(feature = "sandbox")]
mod compile;
#[cfg(feature = "sandbox")]
mod component;
#[cfg(feature = "sandbox")]
mod component_tool;
#[cfg(feature = "sandbox")]
mod error;
#[cfg(feature = "sandbox")]
mod explain;
#[cfg(feature = "sandbox")]
mod guest_services;
#[cfg(feature = "sandbox")]
mod hidden_text;
#[cfg(feature = "sandbox")]
mod load_events;
#[cfg(feature = "sandbox")]
mod policy_check;
#[cfg(feature = "sandbox")]
mod precompile;
#[cfg(feature = "sandbox")]
mod reach;
#[cfg(feature = "sandbox")]
mod sandbox;
#[cfg(feature = "sandbox")]
mod self_check;
#[cfg(feature = "sandbox")]
mod starter_policy;

/// The examples of the guide are compiled with those of this crate.
#[cfg(all(doctest, feature = "sandbox"))]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingGuide;

pub use agent::{Agent, AgentBuilder, AgentError, Totals};
pub use environment::{cache_dir, results_dir};
pub use policy_file::{PolicyError, load_policy, load_policy_with_places, policy_from_environment};
pub use regular_file::open_regular_file;
pub use result_folder::{Cleaned, FileResults, Removal, ResultFolder, ResultFolderError, ResultFolderLimits};
pub use run_limits::run_limits;
pub use tools::{IntoOffers, OfferError};

#[cfg(feature = "providers")]
pub use models::{DEFAULT_MODEL, ModelChoiceError, model_from_environment, open_model, script_model};

#[cfg(feature = "sandbox")]
pub use advisories::{ADVISORIES_UNTIL, Advisory, ENGINE_VERSION, advisories};
#[cfg(feature = "sandbox")]
pub use compile::{Compile, CompileLimits, QueueLimits};
#[cfg(feature = "sandbox")]
pub use component::{Component, DefinitionSource, Origin, Said, Terms, inspect_file, read_component};
#[cfg(feature = "sandbox")]
pub use error::{ComponentError, Warning};
#[cfg(feature = "sandbox")]
pub use explain::{Decided, Explanation, GrantRuling, Overruled, Source, ToolRuling, explain, explain_tool};
#[cfg(feature = "sandbox")]
pub use guest_services::{GuestLog, LogRing, LogSink};
#[cfg(feature = "sandbox")]
pub use hidden_text::hidden_characters;
#[cfg(feature = "sandbox")]
pub use hotcell_compiler::cache::{CacheCounts, CacheState};
#[cfg(feature = "sandbox")]
pub use hotcell_compiler::difference::{
    Difference, Need, Reach, SchemaChange, SchemaEffect, SchemaPlace, SchemaPlaces, ToolChange,
    ToolsDifference, difference,
};
#[cfg(feature = "sandbox")]
pub use hotcell_compiler::inspect::{Capability, Ceiling, CoreShape, ImportGroup, Producer, Standing};
#[cfg(feature = "sandbox")]
pub use hotcell_compiler::queue::QueueGauges;
#[cfg(feature = "sandbox")]
pub use hotcell_compiler::{
    Inspection, LoadError, MissingWall, Wall, Walls, embed_definitions, inspect, read_definitions,
    worker_main,
};
#[cfg(feature = "sandbox")]
pub use hotcell_sandbox::{Gauges, GuestGone, Observer};
#[cfg(feature = "sandbox")]
pub use load_events::{LoadEvent, LoadObserver, LoadProgress};
#[cfg(feature = "sandbox")]
pub use policy_check::{CALL_MEMORY_BYTES, Finding, LONGEST_CALL, Severity, check_policy};
#[cfg(feature = "sandbox")]
pub use precompile::Precompiled;
#[cfg(feature = "sandbox")]
pub use reach::{MissingGrant, UnusedGrant, missing_grants, unused_grants};
#[cfg(feature = "sandbox")]
pub use sandbox::{Cache, DEFAULT_CACHE_BYTES, Sandbox, SandboxConfig};
#[cfg(feature = "sandbox")]
pub use self_check::CompilerCheck;
#[cfg(feature = "sandbox")]
pub use starter_policy::{PolicySubject, starter_policy};

pub use hotcell_agent::host_tool::IntoReport;
pub use hotcell_agent::scripted_model::{call_reply, text_reply};
pub use hotcell_agent::{
    Answer, AskUser, Asked, CallRecord, Clock, Door, DoorRequest, EventSender, Events, Harness,
    HarnessConfig, HostTool, MemoryResults, Offer, RunError, RunErrorInfo, RunRequest, RunResult, RunStatus,
    RunStream, RunWarning, ScriptedModel, SessionGrants, StopReason, TokioClock, ToolSet, ToolSetError,
    event_channel,
};
pub use hotcell_core::approval::{ApprovalRequest, Approver, ApproverError, Decision};
pub use hotcell_core::call::{CallReport, Caller, Usage};
pub use hotcell_core::event::{Disclosure, EventSink, Hook, RunEvent};
pub use hotcell_core::grant::{Grant, Grants, parse_grant};
pub use hotcell_core::ids::{CallId, Digest, RunId, ToolName};
pub use hotcell_core::limits::{CallLimits, LimitOverrides, Limits, Oversized};
pub use hotcell_core::middleware::{Middleware, MiddlewareError, Stage};
pub use hotcell_core::model::{Model, ModelReply, ModelRequest};
pub use hotcell_core::outcome::Outcome;
pub use hotcell_core::policy::{Isolation, Permission, Policy};
pub use hotcell_core::replay::{Replay, ToolRetry};
pub use hotcell_core::results::ResultStore;
pub use hotcell_core::tool::{Definition, Tool};
pub use hotcell_core::{
    approval, budget, call, content, engine, event, grant, ids, limits, media, message, middleware, model,
    outcome, policy, replay, services, text, tool, units,
};

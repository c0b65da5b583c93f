//! End-to-end and hostile tests against the real engine, real components and the real binary.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cli_author;
mod cli_demo;
mod cli_doctor;
mod cli_inspect;
mod cli_interrupt;
mod cli_policy;
mod cli_policy_check;
mod cli_run;
mod cli_run_settings;
mod cli_tool_call;
mod docs;
mod docs_json;
mod loading_bombs;
mod loading_bytes;
mod loading_bytes_large;
mod loading_cache;
mod loading_cache_writers;
mod loading_prepared;
mod loading_queue;
mod loading_worker;
mod sandbox_cancel;
mod sandbox_grants;
mod sandbox_limits;
mod sandbox_preempts;
mod sandbox_results;
mod sandbox_soak;
mod sandbox_traps;

//! Write tools for agents as plain functions; compile them to WebAssembly components.
//!
//! What comes in: functions marked with [`tool`](macro@tool) and listed in [`component!`].
//! What goes out: a component that exports `hotcell:tool/tools`, when the crate is compiled for
//! `wasm32-wasip2`; everywhere else an ordinary Rust library, so that `cargo test` works without a
//! WebAssembly toolchain.
//! This crate knows nothing of any host.
//!
//! ```
//! use hotcell_tool::{Failure, tool};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct CountArgs {
//!     /// The text to count in.
//!     text: String,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Counts {
//!     lines: usize,
//!     words: usize,
//! }
//!
//! /// Count lines and words of a text.
//! #[tool(read_only, idempotent)]
//! fn count(args: CountArgs) -> Result<Counts, Failure> {
//!     if args.text.is_empty() {
//!         return Err(Failure::invalid_input("the text is empty").advice("send some text"));
//!     }
//!     Ok(Counts { lines: args.text.lines().count(), words: args.text.split_whitespace().count() })
//! }
//!
//! /// Add two numbers.
//! #[tool(read_only, idempotent)]
//! fn add(a: i64, b: i64) -> Result<i64, Failure> {
//!     a.checked_add(b).ok_or_else(|| Failure::invalid_input("the sum does not fit into 64 bits"))
//! }
//!
//! hotcell_tool::component!(count, add);
//! # fn main() {
//! use hotcell_tool::testing;
//! let output = testing::call(&TOOLS, "add", &serde_json::json!({"a": 1, "b": 2})).unwrap();
//! assert_eq!(output.structured_text(), Some("3"));
//! # }
//! ```
//!
//! Start reading at [`tool`](macro@tool) for what a function may look like, at [`Failure`] for how it
//! says that it failed, and at [`testing`] for tests.

mod arguments;
mod context;
pub mod control;
mod definition;
mod failure;
pub mod log;
mod or_fail;
mod output;
pub mod progress;
mod returned;
mod schema;
mod tool_set;

#[cfg(target_arch = "wasm32")]
mod guest;
#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

#[cfg(target_arch = "wasm32")]
use guest as host;
#[cfg(not(target_arch = "wasm32"))]
use native as host;

pub use context::Context;
pub use definition::{Definition, Hints};
pub use failure::{Failure, Fault};
pub use hotcell_tool_macros::{component, tool};
pub use or_fail::OrFail;
pub use output::{Block, Output};
pub use tool_set::{Tool, ToolSet};
pub use {schemars, serde_json};

/// What the macros expand to; not part of the promise of this crate.
#[doc(hidden)]
pub mod __private {
    pub use crate::arguments::{Arguments, Known as KnownArguments, Unknown as UnknownArguments, decode};
    pub use crate::returned::{Plain, Returned, Split, Structured, Text, Unclear, Unfit};
    pub use crate::schema::{no_arguments, of_arguments};
    pub use crate::tool_set::Entry;
    pub use {schemars, serde};

    #[cfg(target_arch = "wasm32")]
    pub use crate::guest::{Component, bindings, export};
}

//! Turns untrusted bytes into a checked, compiled artifact, in a process that can be killed.
//!
//! In: the bytes of a component. Out: an [`Artifact`](hotcell_core::artifact::Artifact), or what the component is and
//! asks for ([`inspect()`]), or an error that says what the file is and what to do. Nothing here runs guest code,
//! and nothing here knows of grants, calls or models.
//!
//! Start reading at [`compile`] (who compiles, and what stops it), then [`mod@inspect`] (what can be known without
//! compiling), [`walls`] (what
//! is between a compile process and everything else), [`definitions`] (the section that says which tools a component has), [`cache`], and [`queue`] (how many
//! compile at once, and who waits).
//!
//! All functions block, except for those of a [`Ticket`](queue::Ticket); callers that must not block run them on a
//! thread of their own.

pub mod cache;
mod cancel;
pub mod compile;
mod cpu;
pub mod definitions;
pub mod difference;
mod engine;
pub mod error;
pub mod inspect;
mod layout;
mod protocol;
pub mod queue;
mod recognise;
pub mod walls;
pub mod worker;

pub use cache::{ArtifactCache, CacheAccess, CacheLimits, CacheOptions, CacheState, Lookup};
pub use cancel::Cancel;
pub use compile::{Compile, CompileLimits, Compiler};
pub use definitions::{embed_definitions, read_definitions};
pub use difference::{Difference, difference};
pub use error::{CompileError, FileKind, LoadError};
pub use inspect::{Inspection, inspect};
pub use queue::{CompileQueue, QueueLimits};
pub use recognise::recognise;
pub use walls::{MissingWall, Wall, Walls};
pub use worker::worker_main;

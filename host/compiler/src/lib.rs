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

#[cfg(feature = "compile")]
pub mod cache;
#[cfg(feature = "compile")]
mod cancel;
#[cfg(feature = "compile")]
pub mod compile;
#[cfg(feature = "compile")]
mod cpu;
pub mod definitions;
pub mod difference;
#[cfg(feature = "compile")]
mod engine;
pub mod error;
pub mod inspect;
mod layout;
#[cfg(feature = "compile")]
mod protocol;
#[cfg(feature = "compile")]
pub mod queue;
mod recognise;
#[cfg(feature = "compile")]
pub mod walls;
#[cfg(feature = "compile")]
pub mod worker;

#[cfg(feature = "compile")]
pub use cache::{ArtifactCache, CacheAccess, CacheLimits, CacheOptions, CacheState, Lookup};
#[cfg(feature = "compile")]
pub use cancel::Cancel;
#[cfg(feature = "compile")]
pub use compile::{Compile, CompileLimits, Compiler};
pub use definitions::{embed_definitions, read_definitions};
pub use difference::{Difference, difference};
pub use error::{CompileError, FileKind, LoadError};
pub use inspect::{Inspection, check_for_compile, inspect};
#[cfg(feature = "compile")]
pub use queue::{CompileQueue, QueueLimits};
pub use recognise::recognise;
#[cfg(feature = "compile")]
pub use walls::{MissingWall, Wall, Walls};
#[cfg(feature = "compile")]
pub use worker::worker_main;

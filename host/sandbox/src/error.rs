//! What can go wrong before a call exists.

use std::path::PathBuf;

use hotcell_core::call::CallReport;
use thiserror::Error;

/// Says why a sandbox, a component or a grant set cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A number in the configuration makes no sense.
    #[error("sandbox configuration: {0}")]
    Config(String),
    /// The engine cannot be made; most often the address space is too small for the pool.
    #[error("engine cannot be created with {slots} slots of {memory_bytes} bytes")]
    Engine {
        /// Slots asked for.
        slots: u32,
        /// Bytes of each memory.
        memory_bytes: u64,
        /// The engine's own words.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A thread or runtime cannot be started.
    #[error("thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The artifact was made by another version or with other settings.
    #[error("artifact was made for engine `{found}`, this is `{expected}`")]
    OtherEngine {
        /// The engine of this sandbox.
        expected: String,
        /// The engine of the artifact.
        found: String,
    },
    /// The artifact cannot be loaded: damaged, or it needs more than the pool can give.
    #[error("artifact cannot be loaded: {reason}")]
    Load {
        /// What does not fit.
        reason: String,
    },
    /// The component does not export what a tool must.
    #[error("component is no set of tools: {reason}")]
    NotATool {
        /// What is missing or different.
        reason: String,
    },
    /// The component imports what this host does not have.
    #[error("component imports what is not available: {reason}")]
    Import {
        /// The import, by name.
        reason: String,
    },
    /// A granted directory cannot be used.
    #[error("granted directory `{}` cannot be used: {reason}", path.display())]
    Grant {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The tool's definitions could not be had.
    #[error("definitions cannot be read: {}", .0.message)]
    Definitions(Box<CallReport>),
    /// The tool's definitions make no sense.
    #[error("definitions are not valid: {0}")]
    BadDefinitions(String),
}

//! What can go wrong with a component before one of its tools is called.

use std::io;
use std::path::PathBuf;

use hotcell_compiler::{CompileError, LoadError};
use hotcell_core::call::CallReport;
use hotcell_core::ids::{Digest, IdError};
use hotcell_core::text::{escape_control, escape_keeping_lines, tail_bytes};
use hotcell_sandbox::SandboxError;
use thiserror::Error;

/// Says why a sandbox or a component cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ComponentError {
    /// The sandbox cannot be made.
    #[error("the sandbox cannot be made")]
    Sandbox(#[source] SandboxError),
    /// The running program, which is also the compile worker, cannot be found.
    #[error("the path of the running program, which compiles components, cannot be found")]
    ThisProgram(#[source] io::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Randomness(String),
    /// The file cannot be read.
    #[error("`{}` cannot be read", escape_control(&path.to_string_lossy()))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The bytes are no component that can be loaded.
    #[error("`{}` cannot be used as a tool", escape_control(name))]
    Component {
        /// What the operator calls it.
        name: String,
        /// What is wrong with it.
        source: LoadError,
    },
    /// The component could not be compiled.
    #[error("`{}` could not be compiled", escape_control(name))]
    Compile {
        /// What the operator calls it.
        name: String,
        /// What stopped it.
        source: CompileError,
    },
    /// The folder of artifacts that were made beforehand cannot be used.
    #[error("the artifacts that were made beforehand cannot be used: {reason}")]
    Prepared {
        /// What is wrong with it.
        reason: String,
    },
    /// An artifact that was asked for is made and cannot be kept.
    #[error("the artifact of `{}` is not kept: {reason}", escape_control(name))]
    NotKept {
        /// What the operator calls the component.
        name: String,
        /// Why.
        reason: String,
    },
    /// The component does not fit the sandbox, or its grants cannot be opened.
    #[error("`{}` cannot be loaded", escape_control(name))]
    Load {
        /// What the operator calls it.
        name: String,
        /// What does not fit.
        source: SandboxError,
    },
    /// The policy accepts other bytes only.
    #[error("`{}` has digest {found}, the policy accepts only {expected}", escape_control(name))]
    Digest {
        /// What the operator calls it.
        name: String,
        /// The digest the policy names.
        expected: Digest,
        /// The digest of the bytes.
        found: Digest,
    },
    /// The policy speaks of a tool the component does not have.
    #[error(
        "component `{}` has no tool `{}`, which `{place}` of its policy names; it has: {}",
        escape_control(name), escape_control(tool), known.join(", ")
    )]
    NoSuchTool {
        /// What the operator calls the component.
        name: String,
        /// The tool.
        tool: String,
        /// The key of the policy.
        place: &'static str,
        /// The tools there are.
        known: Vec<String>,
    },
    /// Prefix and name together are no legal tool name.
    #[error("component `{}`: a tool cannot be offered under its name", escape_control(name))]
    ToolName {
        /// What the operator calls the component.
        name: String,
        /// The rule that is broken.
        source: IdError,
    },
    /// The thread that loads was stopped.
    #[error("loading `{}` was interrupted: {reason}", escape_control(name))]
    Interrupted {
        /// What the operator calls it.
        name: String,
        /// What stopped it.
        reason: String,
    },
}

impl ComponentError {
    /// The stable code, for machines.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "unreadable",
            Self::Component { source, .. } => source.code(),
            Self::Compile { source, .. } => source.code(),
            Self::Load { source, .. } => match source {
                SandboxError::Grant { .. } => "grant",
                SandboxError::Import { .. } => "unsupported_import",
                SandboxError::NotATool { .. } => "invalid_component",
                SandboxError::Definitions(_) | SandboxError::BadDefinitions(_) => "invalid_definitions",
                _ => "does_not_fit",
            },
            Self::Prepared { .. } => "prepared",
            Self::NotKept { .. } => "not_kept",
            Self::Digest { .. } => "digest_mismatch",
            Self::NoSuchTool { .. } | Self::ToolName { .. } => "policy_mismatch",
            Self::Sandbox(_) | Self::ThisProgram(_) | Self::Randomness(_) | Self::Interrupted { .. } => {
                "internal"
            }
        }
    }

    /// What to do about it, as an imperative without a full stop.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        Some(match self {
            Self::Component { source, .. } => source.advice(),
            Self::Compile { source, .. } => source.advice(),
            Self::Load { source, .. } => return sandbox_advice(source),
            Self::Sandbox(source) => return sandbox_advice(source),
            Self::Prepared { .. } => {
                "make the folder with `hotcell tool compile FILE... --out FOLDER` as the user that runs this program".into()
            }
            Self::NotKept { .. } => "name a folder on a disk with room that only you can enter (mode 700)".into(),
            Self::Digest { .. } => {
                "use the file the policy was written for, or inspect the new one and change `digest` in the policy".into()
            }
            Self::NoSuchTool { place, .. } => format!("correct or remove the entry in `{place}`"),
            Self::ToolName { .. } => "choose a shorter `prefix`, or use `rename`".into(),
            Self::Read { .. } | Self::ThisProgram(_) | Self::Randomness(_) | Self::Interrupted { .. } => return None,
        })
    }
}

fn sandbox_advice(error: &SandboxError) -> Option<String> {
    let advice = match error {
        SandboxError::NotATool { .. } => {
            "build it with the `hotcell-tool` crate (`hotcell tool new NAME` starts a project)"
        }
        SandboxError::Import { .. } => {
            "build the tool against WASI 0.2 and the `hotcell` interfaces of this version only"
        }
        SandboxError::Engine { .. } => "lower the memory limit, or allow more address space (`ulimit -v`)",
        SandboxError::Definitions(report) => return definitions_advice(report),
        SandboxError::Config(_)
        | SandboxError::Thread(_)
        | SandboxError::OtherEngine { .. }
        | SandboxError::Load { .. }
        | SandboxError::Grant { .. }
        | SandboxError::BadDefinitions(_) => return None,
        // The enum of the sandbox may grow.
        _ => return None,
    };
    Some(advice.into())
}

/// The guest's own last words, where it had some; the end says most.
fn definitions_advice(report: &CallReport) -> Option<String> {
    let words = report.stderr_tail.as_deref().or(report.guest_message.as_deref())?;
    let words = escape_keeping_lines(tail_bytes(words.trim(), 1_000));
    Some(format!("correct what stops the tool from naming its tools; its own words:\n{words}"))
}

/// Something that does not work as it should and stops nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Warning {
    /// No folder for the cache is known.
    #[error(
        "compiled components are not kept: set HOTCELL_CACHE_DIR, XDG_CACHE_HOME or HOME to an absolute path"
    )]
    NoCacheDir,
    /// Somebody else wrote into the cache.
    #[error(
        "an entry of the cache of compiled components was not what hotcell wrote; it was removed and the component \
         compiled again. If you did not change it, somebody else can write there"
    )]
    CacheEntry,
    /// The cache cannot be used.
    #[error("compiled components are not kept: {reason}")]
    Cache {
        /// What is wrong with it.
        reason: String,
    },
}

//! How components are compiled, named by the program that makes a sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use hotcell_compiler::{CompileLimits, QueueLimits};

use crate::environment::this_program;
use crate::error::ComponentError;

/// How components are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compile(How);

#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    ThisProgram,
    Program { program: PathBuf, args: Vec<OsString> },
    InProcess,
    Prepared { folder: PathBuf, key: Option<PathBuf> },
}

impl Compile {
    /// In a process of its own, made from this same program: limited, watched and killed.
    ///
    /// The program must call [`worker_main`](crate::worker_main) as the first line of `main`.
    #[must_use]
    pub const fn worker() -> Self {
        Self(How::ThisProgram)
    }

    /// In a process of its own, made from another program whose `main` starts with
    /// [`worker_main`](crate::worker_main); `args` stand in front of our own arguments.
    #[must_use]
    pub fn worker_at(program: impl Into<PathBuf>, args: Vec<OsString>) -> Self {
        Self(How::Program { program: program.into(), args })
    }

    /// In this process: nothing stops a component that makes the compiler use all memory or run for hours.
    ///
    /// For components whose author is trusted as much as this program.
    #[must_use]
    pub const fn in_process() -> Self {
        Self(How::InProcess)
    }

    /// Not at all: each artifact was made beforehand by `hotcell tool compile FILE --out FOLDER`, with this version
    /// of hotcell on a machine with the same processor features. No compile process is ever started.
    ///
    /// The folder is only read, must belong to this user alone, and what is in it is believed only after its keyed hash
    /// was checked. A component that is not in it is the error `not_compiled`, which says how to make it.
    #[must_use]
    pub fn prepared(folder: impl Into<PathBuf>) -> Self {
        Self(How::Prepared { folder: folder.into(), key: None })
    }

    /// Like [`Compile::prepared`], with the key in a file of its own (`hotcell tool compile --key FILE`), so that whoever
    /// is given the folder cannot make artifacts that are believed.
    #[must_use]
    pub fn prepared_with_key(folder: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self(How::Prepared { folder: folder.into(), key: Some(key.into()) })
    }

    /// Where the artifacts are when they were made beforehand, and the file with their key.
    pub(crate) fn prepared_folder(&self) -> Option<(&Path, Option<&Path>)> {
        match &self.0 {
            How::Prepared { folder, key } => Some((folder, key.as_deref())),
            How::ThisProgram | How::Program { .. } | How::InProcess => None,
        }
    }

    /// The compiler's own word for it; `scratch` is a folder for temporary files.
    pub(crate) fn resolve(self, scratch: &Path) -> Result<hotcell_compiler::Compile, ComponentError> {
        let worker =
            |program, args| hotcell_compiler::Compile::Worker { program, args, scratch: scratch.into() };
        match self.0 {
            How::ThisProgram => {
                let program = this_program().map_err(ComponentError::ThisProgram)?;
                Ok(worker(program, Vec::new()))
            }
            How::Program { program, args } => Ok(worker(program, args)),
            How::InProcess => Ok(hotcell_compiler::Compile::InProcess),
            How::Prepared { folder, .. } => Ok(hotcell_compiler::Compile::Prepared { folder }),
        }
    }
}

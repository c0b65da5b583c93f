//! How components are compiled, named by the program that makes a sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use hotcell_compiler::CompileLimits;

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
        }
    }
}

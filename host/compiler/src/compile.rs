//! Who compiles, and what stops a component that is built to hang or exhaust the compiler.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hotcell_core::artifact::{Artifact, ArtifactHeader, Code};
use hotcell_core::ids::Digest;
use wasmtime::Engine;

use crate::cancel::Cancel;
use crate::engine::{engine, engine_fingerprint, header};
use crate::error::{CompileError, LoadError};
use crate::inspect::check_for_compile;
use crate::recognise::recognise;

mod supervise;

/// How components are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compile {
    /// In a process of its own, which is limited, watched and killed; the way for components nobody trusts.
    Worker {
        /// An absolute path to a program whose `main` calls [`worker_main`](crate::worker_main) first. On Linux
        /// `/proc/self/exe` is the running program itself, also after its file was replaced.
        program: PathBuf,
        /// Arguments in front of our own.
        args: Vec<OsString>,
        /// An existing folder in which each compile makes a private temporary folder.
        scratch: PathBuf,
    },
    /// In this process: nothing stops a component that makes the compiler use all memory, which ends this
    /// process, or run for hours. For components whose author is trusted as much as this program.
    InProcess,
    /// Never: every artifact was made beforehand and lies in this folder, which the caller reads as a cache.
    Prepared {
        /// The folder, for messages.
        folder: PathBuf,
    },
}

/// What compiling one component may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileLimits {
    /// From start to end, as a clock on the wall sees it; stops a compile that waits or crawls.
    pub wall_time: Duration,
    /// Processor time over all threads, in whole seconds; stops a component built to be slow to compile.
    pub cpu_time: Duration,
    /// Bytes of address space; stops a component built to make the compiler allocate without end
    /// (less than a mebibyte of input can ask for 26 GB).
    pub address_space_bytes: u64,
    /// Bytes of the component.
    pub component_bytes: u64,
    /// Bytes of the artifact, and of any other file the process writes.
    pub artifact_bytes: u64,
}

impl Default for CompileLimits {
    /// 60 s, 120 s of processor time, 3 GiB, 32 MiB in, 256 MiB out.
    fn default() -> Self {
        Self {
            wall_time: Duration::from_secs(60),
            cpu_time: Duration::from_secs(120),
            address_space_bytes: 3 << 30,
            component_bytes: 32 << 20,
            artifact_bytes: 256 << 20,
        }
    }
}

/// Compiles components.
#[derive(Debug)]
pub struct Compiler {
    how: Compile,
    limits: CompileLimits,
    /// Made when first needed: a program that finds everything in its cache may get by with the fingerprint of
    /// another engine.
    engine: OnceLock<(Engine, String)>,
}

impl Compiler {
    /// A compiler; nothing is started yet.
    #[must_use]
    pub fn new(how: Compile, limits: CompileLimits) -> Self {
        Self { how, limits, engine: OnceLock::new() }
    }

    /// What compiling one component may use.
    #[must_use]
    pub fn limits(&self) -> &CompileLimits {
        &self.limits
    }

    /// Whether a compile ends when it is cancelled.
    #[must_use]
    pub(crate) fn can_be_stopped(&self) -> bool {
        matches!(self.how, Compile::Worker { .. })
    }

    /// The header an artifact of this component has; the key of a cache.
    ///
    /// # Errors
    /// [`CompileError::Internal`] when the engine does not start.
    pub fn header(&self, source: Digest) -> Result<ArtifactHeader, CompileError> {
        Ok(header(&self.engine()?.1, source))
    }

    /// Compiles a component. Blocks for up to [`CompileLimits::wall_time`].
    ///
    /// # Errors
    /// [`CompileError`]; whatever the component or the compiling process does, it is one of these.
    pub fn compile(&self, component: &[u8]) -> Result<Artifact, CompileError> {
        self.compile_unless(component, &Cancel::default())
    }

    /// Like [`Compiler::compile`], until it is cancelled.
    ///
    /// # Errors
    /// As [`Compiler::compile`]; [`CompileError::Cancelled`] when it was cancelled and could be stopped.
    pub fn compile_unless(&self, component: &[u8], cancel: &Cancel) -> Result<Artifact, CompileError> {
        recognise(component)?;
        let bytes = component.len() as u64;
        if bytes > self.limits.component_bytes {
            return Err(LoadError::TooLarge { bytes, limit: self.limits.component_bytes }.into());
        }
        let (engine, fingerprint) = self.engine()?;
        let code = match &self.how {
            Compile::Worker { program, args, scratch } => {
                supervise::Worker { program, args, scratch, limits: &self.limits, engine: fingerprint }
                    .compile(component, cancel)?
            }
            Compile::InProcess => compile_here(engine, component)?,
            Compile::Prepared { folder } => {
                return Err(CompileError::NotCompiled { folder: folder.clone() });
            }
        };
        Ok(trust_compiler(header(fingerprint, Digest::of(component)), code))
    }

    fn engine(&self) -> Result<&(Engine, String), CompileError> {
        if let Some(made) = self.engine.get() {
            return Ok(made);
        }
        let engine = engine()?;
        let fingerprint = engine_fingerprint(&engine);
        Ok(self.engine.get_or_init(|| (engine, fingerprint)))
    }
}

/// Checks and compiles in this process; what a worker does inside of its limits.
pub(crate) fn compile_here(engine: &Engine, component: &[u8]) -> Result<Vec<u8>, CompileError> {
    check_for_compile(component)?;
    // A panic of the compiler is a fault of one component, not the end of the program. Nothing of
    // the engine that outlives the call is changed by a compilation.
    match catch_unwind(AssertUnwindSafe(|| engine.precompile_component(component))) {
        Ok(Ok(code)) => Ok(code),
        Ok(Err(error)) => Err(refused(&format!("{error:#}"))),
        Err(_panic) => Err(CompileError::internal("the compiler panicked on this component")),
    }
}

/// What an error of the compiler means, for a component that passed every check.
fn refused(reason: &str) -> CompileError {
    if reason.contains("os error 12") {
        return CompileError::Limit { reason: "no more memory could be had".into() };
    }
    LoadError::invalid(&format!("the compiler refuses it: {reason}"), None).into()
}

#[expect(unsafe_code, reason = "the one place where compiler output becomes an artifact")]
fn trust_compiler(header: ArtifactHeader, code: Vec<u8>) -> Artifact {
    // SAFETY: the code comes from `compile_here` for this very component and engine: either directly, or
    // over a file that only this process and the compile process it started could open, whose length and
    // digest are those that the process reported. Native code must be marked as such somewhere, and this is where
    // it is known to be the compiler's.
    unsafe { Artifact::from_compiler(header, Code::Memory(Arc::new(code))) }
}

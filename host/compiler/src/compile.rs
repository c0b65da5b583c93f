//! Who compiles, and what stops a component that is built to hang or exhaust the compiler.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hotcell_core::artifact::{Artifact, ArtifactHeader, Code};
use hotcell_core::ids::Digest;
use hotcell_core::policy::Isolation;
use wasmtime::Engine;

use crate::cancel::Cancel;
use crate::engine::{engine, engine_fingerprint, header};
use crate::error::{CompileError, LoadError};
use crate::inspect::check_for_compile;
use crate::recognise::recognise;
use crate::walls::Walls;
use bad_ends::BadEnds;

mod bad_ends;
mod supervise;

/// The most threads one compile may use; each costs address space.
const MAX_THREADS: usize = 4;

/// A component with one function that returns 42:
///
/// ```text
/// (component
///   (core module $m (func (export "answer") (result i32) i32.const 42))
///   (core instance $i (instantiate $m))
///   (func (export "answer") (result u32) (canon lift (core func $i "answer"))))
/// ```
#[rustfmt::skip]
const PROBE: &[u8] = &[
    0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00, 0x01, 0x32, 0x00, 0x61, 0x73, 0x6d, 0x01, 0x00,
    0x00, 0x00, 0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7f, 0x03, 0x02, 0x01, 0x00, 0x07, 0x0a, 0x01,
    0x06, 0x61, 0x6e, 0x73, 0x77, 0x65, 0x72, 0x00, 0x00, 0x0a, 0x06, 0x01, 0x04, 0x00, 0x41, 0x2a,
    0x0b, 0x00, 0x09, 0x04, 0x6e, 0x61, 0x6d, 0x65, 0x00, 0x02, 0x01, 0x6d, 0x02, 0x04, 0x01, 0x00,
    0x00, 0x00, 0x07, 0x05, 0x01, 0x40, 0x00, 0x00, 0x79, 0x06, 0x0c, 0x01, 0x00, 0x00, 0x01, 0x00,
    0x06, 0x61, 0x6e, 0x73, 0x77, 0x65, 0x72, 0x08, 0x06, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b,
    0x0c, 0x01, 0x00, 0x06, 0x61, 0x6e, 0x73, 0x77, 0x65, 0x72, 0x01, 0x00, 0x00,
];

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
        /// An existing folder in which each compile makes a file without a name.
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
    isolation: Isolation,
    /// How many compile processes run at the moment.
    running: AtomicUsize,
    /// What the last compile process said of its walls.
    walls: Mutex<Option<Walls>>,
    bad_ends: BadEnds,
    /// Made when first needed: a program that finds everything in its cache may get by with the fingerprint of
    /// another engine.
    engine: OnceLock<(Engine, String)>,
}

impl Compiler {
    /// A compiler; nothing is started yet.
    #[must_use]
    pub fn new(how: Compile, limits: CompileLimits) -> Self {
        Self {
            how,
            limits,
            isolation: Isolation::default(),
            running: AtomicUsize::new(0),
            walls: Mutex::new(None),
            bad_ends: BadEnds::default(),
            engine: OnceLock::new(),
        }
    }

    /// The same with what happens when a wall around a compile process is missing; in this process there are none.
    #[must_use]
    pub fn with_isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// What happens when a wall around a compile process is missing.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// The walls around the last compile process that answered; none when there was none yet.
    #[must_use]
    pub fn last_walls(&self) -> Option<Walls> {
        self.walls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Compiles a tiny component that is known to be good, and says which walls stood around it; none where there is no
    /// compile process.
    ///
    /// # Errors
    /// What stops the compiler here. [`CompileError::Isolation`] when a wall is missing and all are required; then
    /// [`Compiler::last_walls`] says which stand.
    pub fn probe(&self) -> Result<Option<Walls>, CompileError> {
        self.compile(PROBE)?;
        Ok(self.last_walls())
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
        let digest = Digest::of(component);
        let code = match &self.how {
            Compile::Worker { program, args, scratch } => {
                self.bad_ends.check(&digest)?;
                let running = Running::one_more(&self.running);
                let worker = supervise::Worker {
                    program,
                    args,
                    scratch,
                    limits: &self.limits,
                    isolation: self.isolation,
                    threads: running.threads(),
                    engine: fingerprint,
                };
                let supervise::Outcome { code, walls, crashed } = worker.compile(component, cancel)?;
                if walls.is_some() {
                    *self.walls.lock().unwrap_or_else(PoisonError::into_inner) = walls;
                }
                self.bad_ends.note(digest, code.as_ref().err().filter(|_| crashed));
                code?
            }
            Compile::InProcess if self.isolation == Isolation::Required => {
                return Err(CompileError::isolation("components are compiled in this process, without any"));
            }
            Compile::InProcess => compile_here(engine, component)?,
            Compile::Prepared { folder } => {
                return Err(CompileError::NotCompiled { folder: folder.clone() });
            }
        };
        Ok(trust_compiler(header(fingerprint, digest), code))
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

/// One compile process that runs, while this exists.
struct Running<'a> {
    count: &'a AtomicUsize,
    others: usize,
}

impl<'a> Running<'a> {
    fn one_more(count: &'a AtomicUsize) -> Self {
        let others = count.fetch_add(1, Ordering::Relaxed);
        Self { count, others }
    }

    /// A fair part of half of the processors: the other half is for calls, which must not wait for compiles.
    fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        (processors / 2 / (self.others + 1)).clamp(1, MAX_THREADS)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
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
    // over a file without a name that only this process and the compile process it started had, whose length and
    // digest are those that the process reported. Native code must be marked as such somewhere, and this is where
    // it is known to be the compiler's.
    unsafe { Artifact::from_compiler(header, Code::Memory(Arc::new(code))) }
}

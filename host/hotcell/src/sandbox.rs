//! The sandbox with everything around it: the compiler, the cache and the place log records go to.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hotcell_compiler::cache::CacheState;
use hotcell_compiler::queue::QueueGauges;
use hotcell_compiler::{
    ArtifactCache, CacheAccess, CacheLimits, CacheOptions, CompileLimits, CompileQueue, Compiler, QueueLimits,
};
use hotcell_core::limits::CallLimits;
use hotcell_core::policy::Isolation;
use hotcell_sandbox::{Gauges, Observer};
use tokio::sync::Semaphore;

use crate::compile::Compile;
use crate::component::Component;
use crate::environment::cache_dir;
use crate::error::{ComponentError, Warning};
use crate::guest_services::{LogRing, LogSink};
use crate::load_events::LoadObserver;

/// Log records that are kept when nobody takes them.
const LOG_RECORDS: usize = 256;

/// Bytes of compiled components that are kept unless a program says otherwise: 1 GiB.
pub const DEFAULT_CACHE_BYTES: u64 = 1 << 30;

/// How a sandbox is made.
///
/// The defaults are closed: components get nothing, 256 calls at once, 64 MiB per call, two guest threads,
/// compiled components are kept in [`cache_dir`].
#[derive(Clone)]
pub struct SandboxConfig {
    /// How components are compiled.
    pub compile: Compile,
    /// What compiling one component may use.
    pub compile_limits: CompileLimits,
    /// What happens when the system does not offer a wall around the compile process.
    pub isolation: Isolation,
    /// How many components may be compiled at once, and how many may wait for it.
    pub compile_queue: QueueLimits,
    /// Where compiled components are kept.
    pub cache: Cache,
    /// Bytes of compiled components that are kept; those not used for the longest time make room.
    pub cache_bytes: u64,
    /// Threads that run guests.
    pub guest_workers: NonZeroUsize,
    /// Calls that can exist at once; more wait for admission. Each slot costs address space and kernel mappings.
    pub slots: u32,
    /// The largest memory limit a call may have, in bytes; the pool is sized for it.
    pub max_memory_bytes: u64,
    /// The largest table limit a call may have, in elements.
    pub max_table_elements: u32,
    /// Where log records of guests go.
    pub log: Arc<dyn LogSink>,
    /// Told of every call that was stopped, and how late.
    pub observer: Option<Arc<dyn Observer>>,
    /// Told how loads get on; the runtime that loads must have its timers on then.
    pub load_observer: Option<Arc<dyn LoadObserver>>,
}

/// Where compiled components are kept; not asked with [`Compile::prepared`], which says itself where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cache {
    /// In [`cache_dir`].
    Default,
    /// In this folder, which becomes private to the user.
    At(PathBuf),
    /// In this folder, with the key in a file of its own; for artifacts that [`Compile::prepared_with_key`] reads.
    AtWithKey {
        /// The folder, which becomes private to the user.
        folder: PathBuf,
        /// The file, which is made when missing, private to the user.
        key: PathBuf,
    },
    /// Nowhere.
    Off,
}

impl SandboxConfig {
    /// The defaults; how to compile has none, because it decides what a hostile component can do.
    #[must_use]
    pub fn new(compile: Compile) -> Self {
        let engine = hotcell_sandbox::SandboxConfig::default();
        Self {
            compile,
            compile_limits: CompileLimits::default(),
            isolation: Isolation::BestEffort,
            compile_queue: QueueLimits::default(),
            cache: Cache::Default,
            cache_bytes: DEFAULT_CACHE_BYTES,
            guest_workers: engine.guest_workers,
            slots: engine.slots,
            max_memory_bytes: engine.max_memory_bytes,
            max_table_elements: engine.max_table_elements,
            log: Arc::new(LogRing::new(LOG_RECORDS)),
            observer: None,
            load_observer: None,
        }
    }
}

impl std::fmt::Debug for SandboxConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxConfig")
            .field("compile", &self.compile)
            .field("cache", &self.cache)
            .field("slots", &self.slots)
            .field("max_memory_bytes", &self.max_memory_bytes)
            .finish_non_exhaustive()
    }
}

/// Loads components and runs their tools. Cloning shares it; its threads end with the last clone and the
/// last tool, or with [`Sandbox::shutdown`].
///
/// Making and dropping one is fine inside of an async runtime; [`Sandbox::load`] needs a tokio runtime.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) parts: Arc<Parts>,
}

pub(crate) struct Parts {
    pub(crate) guests: hotcell_sandbox::Sandbox,
    pub(crate) queue: CompileQueue,
    /// Bounds how many components are read or fitted at once; each may hold a whole one in memory.
    pub(crate) loading: Arc<Semaphore>,
    pub(crate) load_observer: Option<Arc<dyn LoadObserver>>,
    pub(crate) log: Arc<dyn LogSink>,
    warning: Option<Warning>,
    /// Whether it was said that an entry of the cache was somebody else's work.
    said_rejected: AtomicBool,
}

impl Parts {
    pub(crate) fn compiler(&self) -> &Compiler {
        self.queue.compiler()
    }

    /// The warning about an entry that was not ours, the first time.
    pub(crate) fn warn_rejected(&self) -> Option<Warning> {
        let first = !self.said_rejected.swap(true, Ordering::Relaxed);
        first.then_some(Warning::CacheEntry)
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sandbox").field(&self.parts.guests).finish()
    }
}

impl Sandbox {
    /// Starts the engine and its threads, and opens the cache.
    ///
    /// A cache that cannot be used is a [`Sandbox::warning`], not an error.
    ///
    /// # Errors
    /// A number of the configuration out of range, or a system that gives no threads, address space or randomness.
    pub fn new(config: SandboxConfig) -> Result<Self, ComponentError> {
        let mut probe = [0_u8; 8];
        getrandom::fill(&mut probe).map_err(|error| ComponentError::Randomness(error.to_string()))?;
        let (cache, warning) = match config.compile.prepared_folder() {
            Some((folder, key)) => (open_prepared(folder, key)?, None),
            None => open_cache(config.cache, config.cache_bytes),
        };
        let scratch = std::env::temp_dir();
        let compiler = Compiler::new(config.compile.resolve(&scratch)?, config.compile_limits)
            .with_isolation(config.isolation);
        let queue = CompileQueue::new(compiler, cache, config.compile_queue);
        let guests = hotcell_sandbox::Sandbox::new(hotcell_sandbox::SandboxConfig {
            guest_workers: config.guest_workers,
            slots: config.slots,
            max_memory_bytes: config.max_memory_bytes,
            max_table_elements: config.max_table_elements,
            observer: config.observer,
        })
        .map_err(ComponentError::Sandbox)?;
        let parts = Parts {
            guests,
            queue,
            loading: Arc::new(Semaphore::new(loads_at_once())),
            load_observer: config.load_observer,
            log: config.log,
            warning,
            said_rejected: AtomicBool::new(false),
        };
        Ok(Self { parts: Arc::new(parts) })
    }

    /// Loads a component from a file: from the cache, or by compiling it.
    ///
    /// Nothing of the component runs, unless its definitions are not embedded: then it is asked for them
    /// once, under limits and without grants. Dropping the future is safe: it leaves the line of those that wait to be
    /// compiled, and a compile process nobody waits for is killed. Several loads of the same bytes share one compile.
    ///
    /// # Errors
    /// [`ComponentError`] says what the file is or lacks; [`ComponentError::advice`] what to do.
    pub async fn load(&self, path: impl AsRef<Path>) -> Result<Component, ComponentError> {
        Component::load_file(self, path.as_ref()).await
    }

    /// Like [`Sandbox::load`], of bytes the program has already; `name` is what errors and policies call them.
    ///
    /// # Errors
    /// As [`Sandbox::load`].
    pub async fn load_bytes(
        &self,
        name: impl Into<String>,
        bytes: impl Into<Arc<[u8]>>,
    ) -> Result<Component, ComponentError> {
        Component::load_bytes(self, name.into(), bytes.into()).await
    }

    /// What does not work as it should, such as a cache that cannot be opened.
    #[must_use]
    pub fn warning(&self) -> Option<&Warning> {
        self.parts.warning.as_ref()
    }

    /// What the cache of compiled components holds, and what was noticed about it. Lists its folder.
    #[must_use]
    pub fn cache_state(&self) -> CacheState {
        self.parts.queue.cache().state()
    }

    /// How many components are being compiled, and how many wait for it.
    #[must_use]
    pub fn compile_gauges(&self) -> QueueGauges {
        self.parts.queue.gauges()
    }

    /// What the sandbox is doing at the moment.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        self.parts.guests.gauges()
    }

    /// Which engine compiled components are made for.
    #[must_use]
    pub fn engine(&self) -> &str {
        self.parts.guests.engine()
    }

    /// Whether calls with these limits can run here.
    ///
    /// # Errors
    /// A limit that is larger than the configuration allows, by name.
    pub fn check_limits(&self, limits: &CallLimits) -> Result<(), ComponentError> {
        self.parts.guests.check_limits(limits).map_err(ComponentError::Sandbox)
    }

    /// Stops every guest and waits until the threads are gone.
    pub async fn shutdown(&self) {
        self.parts.guests.shutdown().await;
    }
}

fn open_cache(cache: Cache, bytes: u64) -> (ArtifactCache, Option<Warning>) {
    let (folder, key) = match cache {
        Cache::Off => return (ArtifactCache::off("it is switched off"), None),
        Cache::At(folder) => (Some(folder), None),
        Cache::AtWithKey { folder, key } => (Some(folder), Some(key)),
        Cache::Default => (cache_dir(), None),
    };
    let Some(folder) = folder else {
        return (ArtifactCache::off("no folder is known"), Some(Warning::NoCacheDir));
    };
    let limits = CacheLimits { bytes, ..CacheLimits::default() };
    let cache =
        ArtifactCache::open_with(&folder, CacheOptions { limits, key, access: CacheAccess::ReadWrite });
    let warning = cache.unavailable().map(|error| Warning::Cache { reason: error.to_string() });
    (cache, warning)
}

/// Without its folder a program that compiles nothing can load nothing.
fn open_prepared(folder: &Path, key: Option<&Path>) -> Result<ArtifactCache, ComponentError> {
    let options = CacheOptions {
        key: key.map(Path::to_owned),
        access: CacheAccess::ReadOnly,
        ..CacheOptions::default()
    };
    let cache = ArtifactCache::open_with(folder, options);
    match cache.unavailable() {
        Some(error) => Err(ComponentError::Prepared { reason: error.to_string() }),
        None => Ok(cache),
    }
}

/// Half of the processors, because looking at hostile components must leave room for calls.
fn loads_at_once() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| (usize::from(processors) / 2).max(1))
}

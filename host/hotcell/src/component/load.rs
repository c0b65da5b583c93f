//! From a path or bytes to a component that fits the sandbox.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_compiler::queue::{Compiled, Source as QueueSource, Update};
use hotcell_compiler::{CompileError, Inspection, LoadError, Lookup, inspect, read_definitions};
use hotcell_core::artifact::Artifact;
use hotcell_core::ids::Digest;
use hotcell_core::limits::CallLimits;
use hotcell_core::tool::Definition;
use hotcell_sandbox::LoadedComponent;

use crate::error::{ComponentError, Warning};
use crate::guest_services::DefinitionServices;
use crate::load_events::{LoadProgress, Watch};
use crate::regular_file::open_regular_file;
use crate::sandbox::Parts;

/// Bytes of a component that are read; a larger one is refused.
const MAX_COMPONENT_BYTES: u64 = 32 << 20;

/// How often an observer is told that nothing changed.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Where the bytes of a component are.
#[derive(Clone)]
pub(crate) enum Source {
    /// Read when needed, and not kept while the load waits.
    File(PathBuf),
    /// In memory already.
    Bytes(Arc<[u8]>),
}

/// What is known of a component before it is compiled.
pub(crate) struct Seen {
    pub(crate) digest: Digest,
    pub(crate) embedded: Option<Vec<Definition>>,
    /// The artifact, when the cache had it.
    pub(crate) cached: Option<Artifact>,
    pub(crate) warnings: Vec<Warning>,
}

/// A component in the sandbox, and what was noticed on the way.
pub(super) struct Loaded {
    pub(super) component: LoadedComponent,
    pub(super) embedded: Option<Vec<Definition>>,
    pub(super) warnings: Vec<Warning>,
}

/// Loads a component: from the cache, or by compiling it.
pub(super) async fn load(parts: &Arc<Parts>, name: &str, source: Source) -> Result<Loaded, ComponentError> {
    let mut watch = Watch::new(parts.load_observer.as_deref(), name);
    // One trip to another thread when the cache has it.
    let of_thread = (name.to_owned(), source.clone());
    let (mut seen, fitted) = blocking(parts, name, move |parts| {
        let (name, source) = &of_thread;
        let seen = see(parts, name, source)?;
        let fitted = seen.cached.as_ref().map(|artifact| fit(parts, name, artifact)).transpose()?;
        Ok((seen, fitted))
    })
    .await?;
    let component = match fitted {
        Some(component) => {
            watch.say(LoadProgress::Done { took: Duration::ZERO, from_cache: true });
            component
        }
        None => {
            let artifact = compile(parts, name, source, &mut seen, &mut watch).await?.artifact;
            let of_thread = name.to_owned();
            blocking(parts, name, move |parts| fit(parts, &of_thread, &artifact)).await?
        }
    };
    Ok(Loaded { component, embedded: seen.embedded, warnings: seen.warnings })
}

/// Runs something that blocks; only so much of it at once, because it may hold a whole component.
pub(crate) async fn blocking<T: Send + 'static>(
    parts: &Arc<Parts>,
    name: &str,
    work: impl FnOnce(&Parts) -> Result<T, ComponentError> + Send + 'static,
) -> Result<T, ComponentError> {
    let interrupted = |reason: String| ComponentError::Interrupted { name: name.to_owned(), reason };
    let permit = Arc::clone(&parts.loading).acquire_owned().await;
    let permit = permit.map_err(|error| interrupted(error.to_string()))?;
    let parts = Arc::clone(parts);
    let done = tokio::task::spawn_blocking(move || {
        let _held_until_done = permit;
        work(&parts)
    });
    done.await.map_err(|error| interrupted(error.to_string()))?
}

/// Looks at a component and into the cache; refuses what need not be compiled to be refused. Blocks.
pub(crate) fn see(parts: &Parts, name: &str, source: &Source) -> Result<Seen, ComponentError> {
    let file;
    let bytes: &[u8] = match source {
        Source::File(path) => {
            file = read_component(path)?;
            &file
        }
        Source::Bytes(bytes) => bytes,
    };
    let refused = |source| ComponentError::Component { name: name.to_owned(), source };
    // What is wrong with a whole file is said better by whoever looks at the whole file.
    let embedded = read_definitions(bytes).map_err(|error| refused(inspect(bytes).err().unwrap_or(error)))?;
    let digest = Digest::of(bytes);
    let header = parts.compiler().header(digest).map_err(|error| compiling(name, error))?;
    let mut seen = Seen { digest, embedded, cached: None, warnings: Vec::new() };
    match parts.queue.cache().get(&header) {
        Lookup::Found(artifact) => {
            seen.cached = Some(artifact);
            return Ok(seen);
        }
        Lookup::Rejected => seen.warnings.extend(parts.warn_rejected()),
        Lookup::Missing => {}
    }
    // Refuses at once, and in clearer words, what the compile process would refuse as well.
    inspect(bytes).and_then(|inspection| inspection.check()).map_err(refused)?;
    Ok(seen)
}

/// Waits in the line for the compile of what was seen.
pub(crate) async fn compile(
    parts: &Parts,
    name: &str,
    source: Source,
    seen: &mut Seen,
    watch: &mut Watch<'_>,
) -> Result<Compiled, ComponentError> {
    let mut ticket =
        parts.queue.enter(seen.digest, source.into_queue()).map_err(|error| compiling(name, error))?;
    let mut began = None;
    let result = loop {
        let update = if watch.is_observed() {
            match tokio::time::timeout(TELL_EVERY, ticket.next()).await {
                Ok(update) => update,
                Err(_nothing_changed) => {
                    if let Some(began) = began {
                        watch.say(LoadProgress::Compiling { since: Instant::elapsed(&began) });
                    }
                    continue;
                }
            }
        } else {
            ticket.next().await
        };
        match update {
            Update::Queued { place, of } => watch.say(LoadProgress::Queued { place, of }),
            Update::Compiling => {
                began = Some(Instant::now());
                watch.say(LoadProgress::Compiling { since: Duration::ZERO });
            }
            Update::Done(result) => break result,
        }
    };
    let compiled = result.map_err(|error| compiling(name, error))?;
    watch.say(LoadProgress::Done { took: compiled.took, from_cache: compiled.took.is_zero() });
    let not_kept = compiled.not_kept.as_ref();
    seen.warnings.extend(not_kept.map(|error| Warning::Cache { reason: error.to_string() }));
    Ok(compiled)
}

/// Makes an artifact a component of the sandbox. Blocks.
fn fit(parts: &Parts, name: &str, artifact: &Artifact) -> Result<LoadedComponent, ComponentError> {
    let unfit = |source| ComponentError::Load { name: name.to_owned(), source };
    parts.guests.load(artifact).map_err(unfit)
}

fn compiling(name: &str, error: CompileError) -> ComponentError {
    let name = name.to_owned();
    match error {
        CompileError::Component(source) => ComponentError::Component { name, source },
        source => ComponentError::Compile { name, source },
    }
}

impl Source {
    /// Reads the bytes when the turn of the component comes.
    fn into_queue(self) -> QueueSource {
        Box::new(move || match self {
            Self::Bytes(bytes) => Ok(Box::new(bytes)),
            Self::File(path) => match read_component(&path) {
                Ok(bytes) => Ok(Box::new(bytes)),
                Err(error) => {
                    Err(CompileError::Internal { reason: format!("it was there before it waited: {error}") })
                }
            },
        })
    }
}

/// Asks a component for its definitions.
pub(super) async fn ask(name: &str, component: &LoadedComponent) -> Result<Vec<Definition>, ComponentError> {
    component
        .definitions(CallLimits::default(), Arc::new(DefinitionServices))
        .await
        .map_err(|source| ComponentError::Load { name: name.to_owned(), source })
}

/// Looks at a component file without running or compiling it. Blocks.
///
/// # Errors
/// The file cannot be read, or [`LoadError`](hotcell_compiler::LoadError) says what it is instead. Unknown imports are no error here.
pub fn inspect_file(path: &Path) -> Result<Inspection, ComponentError> {
    let bytes = read_component(path)?;
    inspect(&bytes).map_err(|source| ComponentError::Component { name: path.display().to_string(), source })
}

/// Reads a component file of at most 32 MiB. Blocks.
///
/// # Errors
/// The file cannot be read, is no regular file, or is too large.
pub fn read_component(path: &Path) -> Result<Vec<u8>, ComponentError> {
    let unreadable = |source| ComponentError::Read { path: path.to_path_buf(), source };
    let file = open_regular_file(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let too_large = |bytes| ComponentError::Component {
        name: path.display().to_string(),
        source: LoadError::TooLarge { bytes, limit: MAX_COMPONENT_BYTES },
    };
    if metadata.len() > MAX_COMPONENT_BYTES {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if read > MAX_COMPONENT_BYTES { Err(too_large(read)) } else { Ok(bytes) }
}

/// What a file is called in policies: its name without the ending.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

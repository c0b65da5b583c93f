//! From a path or bytes to a component that fits the sandbox.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use hotcell_compiler::{CompileError, Inspection, LoadError, Lookup, inspect, read_definitions};
use hotcell_core::artifact::Artifact;
use hotcell_core::ids::Digest;
use hotcell_core::limits::CallLimits;
use hotcell_core::tool::Definition;
use hotcell_sandbox::LoadedComponent;

use crate::error::{ComponentError, Warning};
use crate::guest_services::DefinitionServices;
use crate::regular_file::open_regular_file;
use crate::sandbox::Parts;

/// Bytes of a component that are read; a larger one is refused.
const MAX_COMPONENT_BYTES: u64 = 32 << 20;

/// A component in the sandbox, and what was noticed on the way.
pub(super) struct Loaded {
    pub(super) component: LoadedComponent,
    pub(super) embedded: Option<Vec<Definition>>,
    pub(super) warnings: Vec<Warning>,
}

/// Loads a component: from the cache, or by compiling it. Blocks.
pub(super) fn load(parts: &Parts, name: &str, bytes: &Arc<[u8]>) -> Result<Loaded, ComponentError> {
    let refused = |source| ComponentError::Component { name: name.to_owned(), source };
    let compiling = |source| match source {
        CompileError::Component(source) => ComponentError::Component { name: name.to_owned(), source },
        source => ComponentError::Compile { name: name.to_owned(), source },
    };
    // What is wrong with a whole file is said better by whoever looks at the whole file.
    let embedded = read_definitions(bytes).map_err(|error| refused(inspect(bytes).err().unwrap_or(error)))?;
    let header = parts.compiler.header(Digest::of(bytes)).map_err(compiling)?;
    let lookup = parts.cache.get(&header);
    let mut warnings = Vec::new();
    if matches!(lookup, Lookup::Rejected) {
        warnings.extend(parts.warn_rejected());
    }
    let artifact = match lookup {
        Lookup::Found(artifact) => artifact,
        Lookup::Missing | Lookup::Rejected => {
            // Refuses at once, and in clearer words, what the compile process would refuse as well.
            inspect(bytes).and_then(|inspection| inspection.check()).map_err(refused)?;
            let artifact = parts.compiler.compile(bytes).map_err(compiling)?;
            warnings.extend(keep(parts, &artifact));
            artifact
        }
    };
    let component = parts
        .guests
        .load(&artifact)
        .map_err(|source| ComponentError::Load { name: name.to_owned(), source })?;
    Ok(Loaded { component, embedded, warnings })
}

fn keep(parts: &Parts, artifact: &Artifact) -> Option<Warning> {
    if parts.cache.unavailable().is_some() {
        // Said once, by the sandbox, and not for each component.
        return None;
    }
    parts.cache.put(artifact).err().map(|error| Warning::Cache { reason: error.to_string() })
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
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

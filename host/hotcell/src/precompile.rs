//! Compiling beforehand: into the cache, or into a folder another machine reads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hotcell_core::ids::Digest;

use crate::component::load::{Source, blocking, compile, see, stem};
use crate::error::{ComponentError, Warning};
use crate::load_events::{LoadProgress, Watch};
use crate::sandbox::Sandbox;

/// A component whose artifact is in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precompiled {
    /// The digest of the component's bytes.
    pub digest: Digest,
    /// Whether the artifact was there already.
    pub from_cache: bool,
    /// How long the compile took; zero when there was none.
    pub took: Duration,
    /// Bytes of the artifact.
    pub artifact_bytes: u64,
    /// What did not work as it should and stopped nothing.
    pub warnings: Vec<Warning>,
}

impl Sandbox {
    /// Compiles a component into the cache, so that a later load need not. Nothing of it runs.
    ///
    /// # Errors
    /// What [`Sandbox::load`] would say of a component that cannot be compiled, and
    /// [`ComponentError::NotKept`] when the artifact cannot be kept.
    pub async fn precompile(&self, path: impl AsRef<Path>) -> Result<Precompiled, ComponentError> {
        let path = path.as_ref();
        let name = stem(path);
        let not_kept = |reason: String| ComponentError::NotKept { name: name.clone(), reason };
        if let Some(error) = self.parts.queue.cache().unavailable() {
            return Err(not_kept(error.to_string()));
        }
        let mut watch = Watch::new(self.parts.load_observer.as_deref(), &name);
        let source = Source::File(path.to_owned());
        let of_thread = (name.clone(), source.clone());
        let seen = blocking(&self.parts, &name, move |parts| see(parts, &of_thread.0, &of_thread.1));
        let mut seen = seen.await?;
        if let Some(artifact) = seen.cached {
            watch.say(LoadProgress::Done { took: Duration::ZERO, from_cache: true });
            return Ok(Precompiled {
                digest: seen.digest,
                from_cache: true,
                took: Duration::ZERO,
                artifact_bytes: artifact.code().bytes(),
                warnings: seen.warnings,
            });
        }
        let parts = Arc::clone(&self.parts);
        let compiled = compile(&parts, &name, source, &mut seen, &mut watch).await?;
        if let Some(error) = compiled.not_kept {
            return Err(not_kept(error.to_string()));
        }
        Ok(Precompiled {
            digest: seen.digest,
            from_cache: compiled.took.is_zero(),
            took: compiled.took,
            artifact_bytes: compiled.artifact.code().bytes(),
            warnings: seen.warnings,
        })
    }
}

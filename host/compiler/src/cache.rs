//! A cache of artifacts on disk, so that a second start loads without compiling.
//!
//! An artifact is native code, so whoever can write into the cache could run code here. What is read is therefore
//! believed only after a keyed hash over all of it was checked, in memory, on the very bytes that are
//! then used. The key lies beside the entries, never among them, in a folder only its owner can enter.
//!
//! The cache never fails a run: what cannot be read or believed is a miss, what cannot be written is not kept, and
//! [`ArtifactCache::unavailable`] says why.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use hotcell_core::artifact::{Artifact, ArtifactHeader};
use thiserror::Error;

use entry::{Entry, Key};
use folder::Folder;

mod entry;
mod folder;
mod key;

/// Bytes of one entry that are read; a larger one is a miss.
const MAX_ENTRY_BYTES: u64 = 512 << 20;

/// Says why something is not cached. Nothing else is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct CacheError {
    reason: String,
}

impl CacheError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// What the cache did since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Artifacts that were found and believed.
    pub hits: u64,
    /// Artifacts that were not there.
    pub misses: u64,
    /// Entries that were there and not believed: changed, cut, made with another key, or of another component.
    pub rejected: u64,
}

/// Compiled components on disk.
#[derive(Debug)]
pub struct ArtifactCache {
    state: Result<Open, CacheError>,
    hits: AtomicU64,
    misses: AtomicU64,
    rejected: AtomicU64,
}

#[derive(Debug)]
struct Open {
    entries: Folder,
    key: Key,
}

impl ArtifactCache {
    /// Opens the cache in this folder, which is made if it is missing, and belongs to the cache alone.
    ///
    /// Always returns a cache; when the folder cannot be used safely, one that is empty and keeps nothing.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        Self::with(Open::at(root))
    }

    /// A cache that is empty and keeps nothing, for a reason that can be shown.
    #[must_use]
    pub fn off(reason: impl Into<String>) -> Self {
        Self::with(Err(CacheError::new(reason)))
    }

    fn with(state: Result<Open, CacheError>) -> Self {
        Self { state, hits: AtomicU64::new(0), misses: AtomicU64::new(0), rejected: AtomicU64::new(0) }
    }

    /// Why there is no cache; none when there is one.
    #[must_use]
    pub fn unavailable(&self) -> Option<&CacheError> {
        self.state.as_ref().err()
    }

    /// What the cache did so far.
    #[must_use]
    pub fn counts(&self) -> CacheCounts {
        CacheCounts {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            rejected: self.rejected.load(Ordering::Relaxed),
        }
    }

    /// The artifact with exactly this header, when there is one that can be believed.
    #[must_use]
    pub fn get(&self, header: &ArtifactHeader) -> Option<Artifact> {
        let (counter, artifact) = match self.state.as_ref().map(|open| open.read(header)) {
            Ok(Ok(Some(artifact))) => (&self.hits, Some(artifact)),
            Ok(Ok(None)) | Err(_) => (&self.misses, None),
            Ok(Err(NotBelieved)) => (&self.rejected, None),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        artifact
    }

    /// Keeps an artifact, in place of an older one.
    ///
    /// # Errors
    /// [`CacheError`] says why it is not kept; the run goes on without.
    pub fn put(&self, artifact: &Artifact) -> Result<(), CacheError> {
        let open = self.state.as_ref().map_err(Clone::clone)?;
        let entry = Entry::of(artifact.header());
        entry
            .seal(&open.key, artifact.code())
            .and_then(|sealed| open.entries.write(&entry.file_name(), &sealed.parts()))
            .map_err(|error| CacheError::new(format!("the artifact cannot be kept in the cache: {error}")))
    }
}

/// An entry is there and is not what we wrote.
#[derive(Debug)]
struct NotBelieved;

impl Open {
    fn at(root: &Path) -> Result<Self, CacheError> {
        let folder = Folder::open_or_make(root)?;
        let key = key::load_or_make(&folder)?;
        Ok(Self { entries: folder.sub_folder("entries")?, key })
    }

    fn read(&self, header: &ArtifactHeader) -> Result<Option<Artifact>, NotBelieved> {
        let entry = Entry::of(header);
        let file = match self.entries.read(&entry.file_name()) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(None),
            Err(_not_readable) => return Err(NotBelieved),
        };
        let code = entry.open(&self.key, file, MAX_ENTRY_BYTES).map_err(|_wrong| NotBelieved)?;
        Ok(Some(believe(header.clone(), code)))
    }
}

#[expect(unsafe_code, reason = "the one place where a file becomes an artifact")]
fn believe(header: ArtifactHeader, code: entry::Verified) -> Artifact {
    // SAFETY: `Verified` exists only for bytes whose keyed hash, over header and code, was checked in memory, and
    // only `put` makes such hashes, from an `Artifact`: so the bytes are what our compiler wrote for this
    // header. Code from disk must be stated to be ours somewhere, and this is where it was checked.
    unsafe { Artifact::from_compiler(header, code.into_bytes()) }
}

#[cfg(test)]
mod tests;

//! A cache of artifacts on disk, so that a second start loads without compiling.
//!
//! An artifact is native code, so whoever can write into the cache could run code here. What is read is therefore
//! believed only after a keyed hash over all of it was checked, in memory, on the very bytes that are
//! then used. The key lies beside the entries, never among them, in a folder only its owner can enter.
//!
//! ```text
//! key            32 random bytes
//! rejected       one byte for each entry that was not ours, see `alarm.rs`
//! entries/       ENGINE-AND-MACHINE dash ENTRY, both digests, see `entry.rs`
//! entries/new-*  files that are being written, see `temporary.rs`
//! ```
//!
//! The cache never fails a run: what cannot be read or believed is a miss, what cannot be written is not kept, and
//! [`ArtifactCache::unavailable`] says why. Any number of processes may use one cache at once.
//!
//! A folder of artifacts that were made beforehand has the same form and is only read ([`CacheAccess::ReadOnly`]).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use hotcell_core::artifact::{Artifact, ArtifactHeader};
use thiserror::Error;

use open::Open;

mod alarm;
mod entry;
mod folder;
mod hold;
mod key;
mod mac;
mod open;
mod room;
mod state;
mod temporary;

pub use room::CacheLimits;
pub use state::{CacheCounts, CacheState};
#[doc(hidden)]
pub use temporary::{Steps, WriteStep};

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

/// How a cache is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheOptions {
    /// How much it may hold.
    pub limits: CacheLimits,
    /// A file with the key, in place of the one in the folder; like that it is made when missing.
    pub key: Option<PathBuf>,
    /// Whether anything is written.
    pub access: CacheAccess,
}

/// Whether anything of a cache is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheAccess {
    /// Folder and key are made when missing, artifacts are kept, what is not ours is removed.
    #[default]
    ReadWrite,
    /// Nothing is made, kept or removed.
    ReadOnly,
}

/// What was found in a cache.
#[derive(Debug)]
pub enum Lookup {
    /// The artifact, which can be believed.
    Found(Artifact),
    /// There is no entry for it.
    Missing,
    /// There was an entry that is not what the cache wrote; it was removed, unless the cache is only read.
    Rejected,
}

impl Lookup {
    /// The artifact, when there is one.
    #[must_use]
    pub fn found(self) -> Option<Artifact> {
        match self {
            Self::Found(artifact) => Some(artifact),
            Self::Missing | Self::Rejected => None,
        }
    }
}

/// Compiled components on disk.
#[derive(Debug)]
pub struct ArtifactCache {
    state: Result<Open, CacheError>,
    /// Where it is, or was meant to be.
    folder: Option<PathBuf>,
    options: CacheOptions,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    rejected: AtomicU64,
    evicted: AtomicU64,
    not_kept: AtomicU64,
}

impl ArtifactCache {
    /// Opens the cache in this folder, which is made if it is missing, and belongs to the cache alone.
    ///
    /// Always returns a cache; when the folder cannot be used safely, one that is empty and keeps nothing.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        Self::open_with(root, CacheOptions::default())
    }

    /// Like [`ArtifactCache::open`], with other limits, another key, or only to be read.
    #[must_use]
    pub fn open_with(root: &Path, options: CacheOptions) -> Self {
        Self::open_watched(root, options, &|_step| ())
    }

    /// Like [`ArtifactCache::open_with`], and told of each step of a write.
    #[doc(hidden)]
    #[must_use]
    pub fn open_watched(root: &Path, options: CacheOptions, steps: Steps<'_>) -> Self {
        let state = Open::at(root, &options, steps);
        Self { state, folder: Some(root.to_owned()), options, counters: Counters::default() }
    }

    /// A cache that is empty and keeps nothing, for a reason that can be shown.
    #[must_use]
    pub fn off(reason: impl Into<String>) -> Self {
        Self {
            state: Err(CacheError::new(reason)),
            folder: None,
            options: CacheOptions::default(),
            counters: Counters::default(),
        }
    }

    /// Why there is no cache; none when there is one.
    #[must_use]
    pub fn unavailable(&self) -> Option<&CacheError> {
        self.state.as_ref().err()
    }

    /// The artifact with exactly this header, when there is one that can be believed.
    #[must_use]
    pub fn get(&self, header: &ArtifactHeader) -> Lookup {
        let lookup = self.get_again(header);
        let counter = match lookup {
            Lookup::Found(_) => &self.counters.hits,
            Lookup::Missing => &self.counters.misses,
            Lookup::Rejected => &self.counters.rejected,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        lookup
    }

    /// Like [`ArtifactCache::get`] for a second look, which the counts leave out.
    #[must_use]
    pub fn get_again(&self, header: &ArtifactHeader) -> Lookup {
        self.state.as_ref().map_or(Lookup::Missing, |open| open.read(header))
    }

    /// Keeps an artifact, in place of an older one, and removes what was not used for long when there is too much.
    ///
    /// # Errors
    /// [`CacheError`] says why it is not kept; the run goes on without.
    pub fn put(&self, artifact: &Artifact) -> Result<(), CacheError> {
        self.put_watched(artifact, &|_step| ())
    }

    /// Like [`ArtifactCache::put`], and told of each step.
    ///
    /// # Errors
    /// As [`ArtifactCache::put`].
    #[doc(hidden)]
    pub fn put_watched(&self, artifact: &Artifact, steps: Steps<'_>) -> Result<(), CacheError> {
        let open = self.state.as_ref().map_err(Clone::clone)?;
        match open.write(artifact, self.options.limits, steps) {
            Ok(evicted) => {
                self.counters.evicted.fetch_add(evicted, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                self.counters.not_kept.fetch_add(1, Ordering::Relaxed);
                Err(CacheError::new(format!("the artifact cannot be kept in the cache: {error}")))
            }
        }
    }
}

#[expect(unsafe_code, reason = "the one place where a file becomes an artifact")]
fn believe(header: ArtifactHeader, code: entry::Verified) -> Artifact {
    // SAFETY: `Verified` exists only for bytes whose keyed hash, over header and code, was checked in memory, and
    // only `write` makes such hashes, from an `Artifact`: so the bytes are what our compiler wrote for this
    // header. Code from disk must be stated to be ours somewhere, and this is where it was checked.
    unsafe { Artifact::from_compiler(header, code.into_code()) }
}

#[cfg(test)]
mod tests;

//! What there is to know about a cache.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::room::{Holding, holding};
use super::{ArtifactCache, alarm};

/// What a cache did since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CacheCounts {
    /// Artifacts that were found and believed.
    pub hits: u64,
    /// Artifacts that were not there.
    pub misses: u64,
    /// Entries that were there and not believed: changed, cut, hand-made, or another user's.
    pub rejected: u64,
    /// Entries that had to make room for others.
    pub evicted: u64,
    /// Artifacts that could not be kept.
    pub not_kept: u64,
}

/// What a cache holds and what was noticed about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheState {
    /// Where it is, or was meant to be; none when it is switched off.
    pub folder: Option<PathBuf>,
    /// Why it is not used; none when it is.
    pub unavailable: Option<String>,
    /// Entries, those of other engines and machines included.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes they may have together.
    pub max_bytes: u64,
    /// Entries there may be.
    pub max_entries: u64,
    /// What this process saw.
    pub counts: CacheCounts,
    /// How often any process found an entry that is not what the cache wrote.
    pub rejected_ever: u64,
    /// When that was last, in seconds since 1970.
    pub last_rejected_unix_seconds: Option<i64>,
    /// The file that counts them; removing it sets the count to zero.
    pub rejected_file: Option<PathBuf>,
}

impl ArtifactCache {
    /// What the cache did so far.
    #[must_use]
    pub fn counts(&self) -> CacheCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheCounts {
            hits: read(&self.counters.hits),
            misses: read(&self.counters.misses),
            rejected: read(&self.counters.rejected),
            evicted: read(&self.counters.evicted),
            not_kept: read(&self.counters.not_kept),
        }
    }

    /// What the cache holds and what was noticed about it. Lists the folder.
    #[must_use]
    pub fn state(&self) -> CacheState {
        let open = self.state.as_ref().ok();
        // What cannot be listed counts as nothing; the entries themselves are checked one by one when they are used.
        let held = open.map_or_else(Holding::default, |open| holding(&open.entries).unwrap_or_default());
        let alarms = open.map_or_else(Default::default, |open| alarm::read(&open.root).unwrap_or_default());
        CacheState {
            folder: self.folder.clone(),
            unavailable: self.unavailable().map(ToString::to_string),
            entries: held.entries,
            bytes: held.bytes,
            max_bytes: self.options.limits.bytes,
            max_entries: self.options.limits.entries,
            counts: self.counts(),
            rejected_ever: alarms.count,
            last_rejected_unix_seconds: alarms.last_unix_seconds,
            rejected_file: open.map(|open| open.root.path().join(alarm::NAME)),
        }
    }
}

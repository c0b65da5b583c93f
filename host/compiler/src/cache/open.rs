//! A cache that can be used.

use std::io;
use std::path::Path;

use hotcell_core::artifact::{Artifact, ArtifactHeader};
use rustix::process::{Resource, getrlimit};

use super::entry::{Entry, Refusal, Verified};
use super::folder::Folder;
use super::key::Place;
use super::mac::Key;
use super::room::make_room;
use super::temporary::{Steps, WriteStep, remove_leftovers};
use super::{CacheAccess, CacheError, CacheLimits, CacheOptions, Lookup, alarm, believe};

/// Bytes of one entry; a larger one is neither read nor written.
const MAX_ENTRY_BYTES: u64 = 512 << 20;

/// The folders and the key of a cache.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) root: Folder,
    pub(super) entries: Folder,
    key: Key,
    access: CacheAccess,
}

impl Open {
    pub(super) fn at(root: &Path, options: &CacheOptions, steps: Steps<'_>) -> Result<Self, CacheError> {
        let access = options.access;
        let folder = match access {
            CacheAccess::ReadWrite => Folder::open_or_make(root)?,
            CacheAccess::ReadOnly => Folder::open(root)?,
        };
        let place = match &options.key {
            Some(path) => Place::at(path)?,
            None => Place::in_cache(root)?,
        };
        let (entries, key) = match access {
            CacheAccess::ReadWrite => {
                remove_leftovers(&folder);
                let key = place.load_or_make(steps)?;
                let entries = folder.sub_folder_or_make("entries")?;
                remove_leftovers(&entries);
                (entries, key)
            }
            CacheAccess::ReadOnly => (folder.sub_folder("entries")?, place.load()?),
        };
        Ok(Self { root: folder, entries, key, access })
    }

    /// Looks an artifact up; what is there and is not ours is removed and counted.
    pub(super) fn read(&self, header: &ArtifactHeader) -> Lookup {
        let entry = Entry::of(header, &self.key);
        match self.verified(&entry) {
            Ok(Some(code)) => Lookup::Found(believe(header.clone(), code)),
            Ok(None) | Err(Refusal::Unreadable) => Lookup::Missing,
            Err(Refusal::NotOurs) => {
                self.reject(&entry);
                Lookup::Rejected
            }
        }
    }

    fn verified(&self, entry: &Entry) -> Result<Option<Verified>, Refusal> {
        let Some(file) = self.entries.read(entry.file_name())? else {
            return Ok(None);
        };
        let code = entry.open(&self.key, &file, MAX_ENTRY_BYTES)?;
        if self.access == CacheAccess::ReadWrite {
            note_use(&file);
        }
        Ok(Some(code))
    }

    /// Removes an entry that is not ours. Should another process have put a good one in its place just now, that one
    /// is gone as well and is made again.
    fn reject(&self, entry: &Entry) {
        if self.access == CacheAccess::ReadOnly {
            return;
        }
        match self.entries.remove(entry.file_name()).and_then(|()| alarm::raise(&self.root)) {
            // An entry that cannot be removed is never believed either, and this process has its own counter.
            Ok(()) | Err(_) => {}
        }
    }

    /// Keeps an artifact; says how many others had to go.
    pub(super) fn write(
        &self,
        artifact: &Artifact,
        limits: CacheLimits,
        steps: Steps<'_>,
    ) -> io::Result<u64> {
        if self.access == CacheAccess::ReadOnly {
            return Err(io::Error::other("the folder is only read"));
        }
        let entry = Entry::of(artifact.header(), &self.key);
        let code = artifact.code().read()?;
        let sealed = entry.seal(&self.key, &code);
        check_size(sealed.bytes(), limits)?;
        self.entries.write(entry.file_name(), &sealed.parts(), steps)?;
        let removed = make_room(&self.entries, limits, entry.generation(), entry.file_name())?;
        steps(WriteStep::Trimmed);
        Ok(removed)
    }
}

/// Refuses what would not fit, before anything is written.
fn check_size(bytes: u64, limits: CacheLimits) -> io::Result<()> {
    let too_large = |limit: u64, whose: &str| {
        Err(io::Error::other(format!("it has {bytes} bytes, and {whose} allows {limit}")))
    };
    let most = limits.bytes.min(MAX_ENTRY_BYTES);
    if bytes > most {
        return too_large(most, "the cache");
    }
    // Writing past this limit of the process would not fail: it would end the process with a signal.
    match getrlimit(Resource::Fsize).current {
        Some(limit) if bytes > limit => too_large(limit, "the limit on files of this process (`ulimit -f`)"),
        Some(_) | None => Ok(()),
    }
}

/// Entries that were not used for the longest time are the first to go, so a use is kept as the time of the file.
fn note_use(file: &std::fs::File) {
    use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};

    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    };
    match futimens(file, &times) {
        // On a disk that is only read nothing is evicted.
        Ok(()) | Err(_) => {}
    }
}

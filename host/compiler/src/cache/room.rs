//! How much the cache holds, and what has to go when that is too much.

use std::io;

use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::folder::Folder;
use super::temporary::{self, remove_leftover};

/// Names of a folder that are looked at; a folder with more was filled by somebody else.
const MAX_NAMES: usize = 100_000;

/// How much a cache may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Bytes of all entries together.
    pub bytes: u64,
    /// Entries.
    pub entries: u64,
}

impl Default for CacheLimits {
    /// 1 GiB and 4,096 entries.
    fn default() -> Self {
        Self { bytes: 1 << 30, entries: 4_096 }
    }
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Holding {
    pub(super) entries: u64,
    pub(super) bytes: u64,
}

/// A file of the cache. In the order in which they go: of other engines, machines and keys first, then those that were
/// not used for the longest time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    of_this_generation: bool,
    used: (i64, i64),
    name: String,
    bytes: u64,
}

/// What the folder holds; files that are being written count as well.
pub(super) fn holding(folder: &Folder) -> io::Result<Holding> {
    Ok(sum(&candidates(folder, "")?))
}

/// Removes entries until the folder keeps its limits, never the one just written nor one that is being written.
/// Says how many.
pub(super) fn make_room(
    folder: &Folder,
    limits: CacheLimits,
    generation: &str,
    written: &str,
) -> io::Result<u64> {
    let mut candidates = candidates(folder, generation)?;
    let mut held = sum(&candidates);
    candidates.sort_unstable();
    let mut removed = 0;
    for candidate in candidates {
        if held.bytes <= limits.bytes && held.entries <= limits.entries {
            break;
        }
        if candidate.name == written || still_there(folder, &candidate.name) {
            continue;
        }
        held.bytes = held.bytes.saturating_sub(candidate.bytes);
        held.entries = held.entries.saturating_sub(1);
        removed += 1;
    }
    Ok(removed)
}

/// Removes a file unless it is being written. Another process may have been faster.
fn still_there(folder: &Folder, name: &str) -> bool {
    if name.starts_with(temporary::PREFIX) {
        remove_leftover(folder, name)
    } else {
        folder.remove(name).is_err()
    }
}

fn sum(candidates: &[Candidate]) -> Holding {
    candidates.iter().fold(Holding::default(), |held, candidate| Holding {
        entries: held.entries + 1,
        bytes: held.bytes.saturating_add(candidate.bytes),
    })
}

fn candidates(folder: &Folder, generation: &str) -> io::Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for name in names(folder)? {
        // What is gone meanwhile needs no room.
        let Ok(stat) = statat(folder.fd(), &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            continue;
        }
        found.push(Candidate {
            of_this_generation: name.starts_with(generation),
            used: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            name,
        });
    }
    Ok(found)
}

/// The names in a folder. Ours are all text; another is passed over.
pub(super) fn names(folder: &Folder) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder.fd())?.take(MAX_NAMES) {
        let entry = entry?;
        if let Ok(name) = entry.file_name().to_str()
            && !matches!(name, "." | "..")
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

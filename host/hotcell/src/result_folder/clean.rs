//! Removing results that are old, or too many.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FlockOperation, flock, fstat, statat, unlinkat};
use rustix::io::Errno;

use super::private::{open_existing, open_folder};
use super::{ResultFolderLimits, is_hex};

/// Most folders that are looked at in one go.
const MAX_FOLDERS: usize = 100_000;

/// Whether anything is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// What is old is removed.
    Remove,
    /// What would be removed is counted.
    DryRun,
}

/// What was removed, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Folders of agents.
    pub folders: u64,
    /// Results in them.
    pub results: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Folders that are old enough and in use, or that could not be removed.
    pub skipped: u64,
}

/// The folder of one agent.
struct Found {
    name: String,
    folder: OwnedFd,
    written: SystemTime,
    files: Vec<String>,
    bytes: u64,
}

pub(super) fn clean(path: &Path, older_than: Duration, removal: Removal) -> io::Result<Cleaned> {
    let root = match open_existing(path) {
        Ok(root) => root,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Cleaned::default()),
        Err(error) => return Err(error),
    };
    let mut cleaned = Cleaned::default();
    for found in list(&root)?.into_iter().filter(|found| age(found) >= older_than) {
        take(&root, &found, removal, &mut cleaned);
    }
    Ok(cleaned)
}

/// Removes what is too old, then the oldest until the rest is small enough.
pub(super) fn make_room(root: &OwnedFd, limits: ResultFolderLimits) -> io::Result<Cleaned> {
    let mut all = list(root)?;
    all.sort_by_key(|found| found.written);
    let mut bytes: u64 = all.iter().map(|found| found.bytes).sum();
    let mut cleaned = Cleaned::default();
    for found in all {
        if age(&found) < limits.max_age && bytes <= limits.max_bytes {
            break;
        }
        take(root, &found, Removal::Remove, &mut cleaned);
        bytes = bytes.saturating_sub(found.bytes);
    }
    Ok(cleaned)
}

#[expect(clippy::disallowed_methods, reason = "the facade is where the clock is read")]
fn age(found: &Found) -> Duration {
    // What was written in the future by a clock that was wrong is new.
    SystemTime::now().duration_since(found.written).unwrap_or_default()
}

/// Counts a folder, and removes it unless only counting is asked for.
fn take(root: &OwnedFd, found: &Found, removal: Removal, cleaned: &mut Cleaned) {
    // An agent that is alive holds the lock.
    let free = flock(&found.folder, FlockOperation::NonBlockingLockExclusive).is_ok();
    let gone = free && (removal == Removal::DryRun || remove(root, found).is_ok());
    if !gone {
        cleaned.skipped += 1;
        return;
    }
    cleaned.folders += 1;
    cleaned.results += u64::try_from(found.files.len()).unwrap_or(u64::MAX);
    cleaned.bytes += found.bytes;
}

fn remove(root: &OwnedFd, found: &Found) -> io::Result<()> {
    for file in &found.files {
        match unlinkat(&found.folder, file, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(unlinkat(root, &found.name, AtFlags::REMOVEDIR)?)
}

/// The folders that were made here; whatever else lies there is left alone.
fn list(root: &OwnedFd) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for name in names(root)?.into_iter().take(MAX_FOLDERS) {
        if !name.strip_prefix("run-").is_some_and(is_hex) {
            continue;
        }
        let Ok(folder) = open_folder(root, &name) else { continue };
        let Ok(stat) = fstat(&folder) else { continue };
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
        let files: Vec<String> = names(&folder)?.into_iter().filter(|name| is_hex(name)).collect();
        let size = |file: &String| {
            statat(&folder, file.as_str(), AtFlags::SYMLINK_NOFOLLOW).map_or(0, |stat| stat.st_size)
        };
        let bytes = files.iter().map(size).map(|size| u64::try_from(size).unwrap_or(0)).sum();
        found.push(Found { name, folder, written, files, bytes });
    }
    Ok(found)
}

fn names(folder: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        names.extend(entry.file_name().to_str().ok().map(str::to_owned));
    }
    Ok(names)
}

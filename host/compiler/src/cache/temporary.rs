//! Files that are being written, and what killed writers left of them.
//!
//! A writer holds a lock on its file until the file has its name. The lock is gone with the process, whatever ended
//! it, so a file that can be locked is a leftover and one that cannot is being written.

use std::fs::File;
use std::io::{self, Write as _};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::io::Errno;

use super::folder::{Folder, PRIVATE_FILE};
use super::room::names;

/// What the names of unfinished files start with.
pub(super) const PREFIX: &str = "new-";

const WRITE_FLAGS: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// For writing, because some network file systems lock nothing else.
const LOCK_FLAGS: OFlags =
    OFlags::RDWR.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// How often a new file is tried when a cleaner met it in the moment between its birth and its lock.
const TRIES: usize = 8;

/// Told of each step of a write.
#[doc(hidden)]
pub type Steps<'a> = &'a (dyn Fn(WriteStep) + Send + Sync);

/// A step of a write that is done. Tests end the process at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum WriteStep {
    /// There is an empty file under a name nobody looks for.
    Created,
    /// It is locked.
    Locked,
    /// The first part is in it.
    Begun,
    /// All parts are in it.
    Written,
    /// They are on the disk.
    Synced,
    /// The file has its name.
    Renamed,
    /// The name is on the disk.
    FolderSynced,
    /// Old entries made room.
    Trimmed,
}

/// A finished file under a name nobody looks for; removed when it is not kept.
#[derive(Debug)]
pub(super) struct Temporary<'a> {
    folder: &'a Folder,
    name: String,
    /// Holds the lock.
    file: File,
    kept: bool,
}

impl<'a> Temporary<'a> {
    /// Writes a file whole.
    pub(super) fn write(folder: &'a Folder, parts: &[&[u8]], steps: Steps<'_>) -> io::Result<Self> {
        let mut temporary = Self::create(folder, steps)?;
        for part in parts {
            temporary.file.write_all(part)?;
            steps(WriteStep::Begun);
        }
        steps(WriteStep::Written);
        temporary.file.sync_all()?;
        steps(WriteStep::Synced);
        Ok(temporary)
    }

    fn create(folder: &'a Folder, steps: Steps<'_>) -> io::Result<Self> {
        for _ in 0..TRIES {
            let mut random = [0; 8];
            getrandom::fill(&mut random).map_err(io::Error::other)?;
            let name = format!("{PREFIX}{:016x}", u64::from_le_bytes(random));
            let file = File::from(openat(folder.fd(), &name, WRITE_FLAGS, PRIVATE_FILE)?);
            let temporary = Self { folder, name, file, kept: false };
            steps(WriteStep::Created);
            if temporary.lock()? {
                steps(WriteStep::Locked);
                return Ok(temporary);
            }
        }
        Err(io::Error::other("each new file was taken for a leftover"))
    }

    /// Whether the file is ours from now on; a cleaner may have been faster.
    fn lock(&self) -> io::Result<bool> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(fstat(&self.file)?.st_nlink > 0),
            Err(Errno::WOULDBLOCK) => Ok(false),
            // Without locks nobody takes the file for a leftover either.
            Err(_no_locks_here) => Ok(true),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.kept {
            match unlinkat(self.folder.fd(), &self.name, AtFlags::empty()) {
                // Nobody looks for the file, and the next opening of the cache tries again.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Removes the file when its writer is gone; says whether it is still there.
pub(super) fn remove_leftover(folder: &Folder, name: &str) -> bool {
    let file = match openat(folder.fd(), name, LOCK_FLAGS, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return false,
        // A link or something else that no writer makes.
        Err(_no_file) => return folder.remove(name).is_err(),
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => folder.remove(name).is_err(),
        Err(_being_written) => true,
    }
}

/// Removes what killed writers left in a folder.
pub(super) fn remove_leftovers(folder: &Folder) {
    match names(folder) {
        Ok(names) => names.iter().filter(|name| name.starts_with(PREFIX)).for_each(|name| {
            remove_leftover(folder, name);
        }),
        // A folder that cannot be listed is cleaned by the next process that can.
        Err(_not_listed) => {}
    }
}

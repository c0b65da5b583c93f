//! A folder that belongs to this user alone: nothing in it is opened through a link, and everything is opened
//! relative to the folder, so that replacing the folder changes nothing.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::fs::{fstat, fsync, mkdirat, open, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::CacheError;
use crate::error::quote;

const FOLDER_FLAGS: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
/// Not blocking, because a pipe may have been put where a file should be.
const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
const WRITE_FLAGS: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PRIVATE_FOLDER: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder; makes it, and the folders above it, when missing.
    pub(super) fn open_or_make(path: &Path) -> Result<Self, CacheError> {
        let fault = |error: &dyn std::fmt::Display| cannot_use(path, error);
        if let Some(above) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).create(above).map_err(|error| fault(&error))?;
        }
        match rustix::fs::mkdir(path, PRIVATE_FOLDER) {
            Ok(()) | Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS) => {}
            Err(error) => return Err(fault(&error)),
        }
        let fd = open(path, FOLDER_FLAGS, Mode::empty()).map_err(|error| fault(&error))?;
        Self::checked(fd, path.to_owned())
    }

    /// Opens a folder in this one; makes it when missing.
    pub(super) fn sub_folder(&self, name: &str) -> Result<Self, CacheError> {
        let path = self.path.join(name);
        match mkdirat(&self.fd, name, PRIVATE_FOLDER) {
            Ok(()) | Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS) => {}
            Err(error) => return Err(cannot_use(&path, &error)),
        }
        let fd =
            openat(&self.fd, name, FOLDER_FLAGS, Mode::empty()).map_err(|error| cannot_use(&path, &error))?;
        Self::checked(fd, path)
    }

    fn checked(fd: OwnedFd, path: PathBuf) -> Result<Self, CacheError> {
        let stat = fstat(&fd).map_err(|error| cannot_use(&path, &error))?;
        match ours_alone(&stat, FileType::Directory) {
            Ok(()) => Ok(Self { fd, path }),
            Err(reason) => {
                Err(cannot_use(&path, &format!("{reason}; expected a folder only you can enter (mode 700)")))
            }
        }
    }

    /// A path to show.
    pub(super) fn show(&self, name: &str) -> String {
        quote(&self.path.join(name).to_string_lossy())
    }

    /// Opens a file of this folder; none when it is missing.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<File>> {
        let fd = match openat(&self.fd, name, READ_FLAGS, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        ours_alone(&fstat(&fd)?, FileType::RegularFile).map_err(io::Error::other)?;
        Ok(Some(File::from(fd)))
    }

    /// Writes a file whole, in place of one of the same name.
    pub(super) fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let temporary = self.temporary(parts)?;
        renameat(&self.fd, &temporary.name, &self.fd, name)?;
        temporary.keep();
        Ok(fsync(&self.fd)?)
    }

    /// Writes a file whole when there is none of this name; else leaves the one there is.
    pub(super) fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.temporary(&[bytes])?;
        match renameat_with(&self.fd, &temporary.name, &self.fd, name, RenameFlags::NOREPLACE) {
            Ok(()) => temporary.keep(),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(fsync(&self.fd)?)
    }

    /// A finished file under a name nobody looks for.
    fn temporary(&self, parts: &[&[u8]]) -> io::Result<Temporary<'_>> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("new-{:016x}", u64::from_le_bytes(random));
        let fd = openat(&self.fd, &name, WRITE_FLAGS, PRIVATE_FILE)?;
        let temporary = Temporary { folder: self, name, kept: false };
        let mut file = File::from(fd);
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()?;
        Ok(temporary)
    }
}

/// Removes an unfinished file.
#[derive(Debug)]
struct Temporary<'a> {
    folder: &'a Folder,
    name: String,
    kept: bool,
}

impl Temporary<'_> {
    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.kept {
            match unlinkat(self.folder.fd.as_fd(), &self.name, AtFlags::empty()) {
                // Nobody looks for the file, so one that cannot be removed harms nothing.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Whether this is of the expected type, ours, and closed to everybody else.
fn ours_alone(stat: &Stat, expected: FileType) -> Result<(), String> {
    if FileType::from_raw_mode(stat.st_mode) != expected {
        return Err("it is of the wrong type".to_owned());
    }
    if stat.st_uid != geteuid().as_raw() {
        return Err(format!("it belongs to user {}", stat.st_uid));
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        return Err(format!("its mode is {:o}, so others can use it", mode.as_raw_mode()));
    }
    Ok(())
}

fn cannot_use(path: &Path, reason: &dyn std::fmt::Display) -> CacheError {
    CacheError::new(format!("the cache folder `{}` cannot be used: {reason}", quote(&path.to_string_lossy())))
}

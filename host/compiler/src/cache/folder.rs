//! A folder that belongs to this user alone: nothing in it is opened through a link, and everything is opened
//! relative to the folder, so that replacing the folder changes nothing.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::fs::{fstat, fsync, mkdirat, open, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::CacheError;
use super::temporary::{Steps, Temporary, WriteStep};
use crate::error::quote;

const FOLDER_FLAGS: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
/// Not blocking, because a pipe may have been put where a file should be.
const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
const APPEND_FLAGS: OFlags = OFlags::WRONLY
    .union(OFlags::APPEND)
    .union(OFlags::CREATE)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);
const PRIVATE_FOLDER: Mode = Mode::RWXU;
pub(super) const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

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
        Self::open(path)
    }

    /// Opens a folder that is there already.
    pub(super) fn open(path: &Path) -> Result<Self, CacheError> {
        let fd = open(path, FOLDER_FLAGS, Mode::empty()).map_err(|error| cannot_use(path, &error))?;
        Self::checked(fd, path.to_owned())
    }

    /// Opens a folder that others may use too; only files that are private are read from it.
    pub(super) fn open_shared(path: &Path) -> Result<Self, CacheError> {
        let flags = FOLDER_FLAGS.difference(OFlags::NOFOLLOW);
        let fd = open(path, flags, Mode::empty()).map_err(|error| cannot_use(path, &error))?;
        Ok(Self { fd, path: path.to_owned() })
    }

    /// Opens a folder in this one; makes it when missing.
    pub(super) fn sub_folder_or_make(&self, name: &str) -> Result<Self, CacheError> {
        match mkdirat(&self.fd, name, PRIVATE_FOLDER) {
            Ok(()) | Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS) => self.sub_folder(name),
            Err(error) => Err(cannot_use(&self.path.join(name), &error)),
        }
    }

    /// Opens a folder in this one.
    pub(super) fn sub_folder(&self, name: &str) -> Result<Self, CacheError> {
        let path = self.path.join(name);
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

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A path to show.
    pub(super) fn show(&self, name: &str) -> String {
        quote(&self.path.join(name).to_string_lossy())
    }

    /// Opens a file of this folder; none when it is missing.
    ///
    /// What is there and is not a file of ours alone is an error of the kind [`io::ErrorKind::InvalidData`].
    pub(super) fn read(&self, name: &str) -> io::Result<Option<File>> {
        let fd = match openat(&self.fd, name, READ_FLAGS, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(error @ (Errno::LOOP | Errno::NXIO | Errno::ACCESS)) => return Err(not_ours(error)),
            Err(error) => return Err(error.into()),
        };
        ours_alone(&fstat(&fd)?, FileType::RegularFile).map_err(not_ours)?;
        Ok(Some(File::from(fd)))
    }

    /// Opens a small file of this folder for lines at its end; makes it when missing.
    pub(super) fn append(&self, name: &str) -> io::Result<File> {
        let fd = openat(&self.fd, name, APPEND_FLAGS, PRIVATE_FILE)?;
        ours_alone(&fstat(&fd)?, FileType::RegularFile).map_err(not_ours)?;
        Ok(File::from(fd))
    }

    /// Writes a file whole, in place of one of the same name.
    pub(super) fn write(&self, name: &str, parts: &[&[u8]], steps: Steps<'_>) -> io::Result<()> {
        let temporary = Temporary::write(self, parts, steps)?;
        renameat(&self.fd, temporary.name(), &self.fd, name)?;
        temporary.keep();
        steps(WriteStep::Renamed);
        fsync(&self.fd)?;
        steps(WriteStep::FolderSynced);
        Ok(())
    }

    /// Writes a file whole when there is none of this name; else leaves the one there is.
    pub(super) fn write_new(&self, name: &str, bytes: &[u8], steps: Steps<'_>) -> io::Result<()> {
        let temporary = Temporary::write(self, &[bytes], steps)?;
        match renameat_with(&self.fd, temporary.name(), &self.fd, name, RenameFlags::NOREPLACE) {
            Ok(()) => temporary.keep(),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        steps(WriteStep::Renamed);
        Ok(fsync(&self.fd)?)
    }

    /// Removes what has this name, an empty folder too; that there is nothing is as good.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(Errno::ISDIR | Errno::PERM) => Ok(unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?),
            Err(error) => Err(error.into()),
        }
    }
}

fn not_ours(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
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

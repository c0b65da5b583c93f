//! Folders and files that belong to this user alone, opened relative to a folder and never through a link.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, open, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
/// Not blocking, because a pipe may have been put where a file should be.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
const WRITE_NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Bytes of one file that are read; what a run may keep is less.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Opens the folder of all results; makes it, and those above it, when missing.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    if let Some(above) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).create(above)?;
    }
    match rustix::fs::mkdir(path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => open_existing(path),
        Err(error) => Err(error.into()),
    }
}

/// Opens the folder of all results when it is there.
pub(super) fn open_existing(path: &Path) -> io::Result<OwnedFd> {
    ours_alone(open(path, FOLDER, Mode::empty())?, FileType::Directory)
}

/// Makes a folder that was not there.
pub(super) fn make_folder(root: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    mkdirat(root, name, Mode::RWXU)?;
    open_folder(root, name)
}

/// Opens a folder in this one.
pub(super) fn open_folder(root: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    ours_alone(openat(root, name, FOLDER, Mode::empty())?, FileType::Directory)
}

/// Writes a file that was not there; none is left when that fails.
pub(super) fn write_file(folder: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::from(openat(folder, name, WRITE_NEW, PRIVATE_FILE)?);
    file.write_all(bytes).or_else(|error| {
        unlinkat(folder, name, AtFlags::empty())?;
        Err(error)
    })
}

/// Reads a file; `None` when there is none.
pub(super) fn read_file(folder: &OwnedFd, name: &str) -> io::Result<Option<Vec<u8>>> {
    let file = match openat(folder, name, READ, Mode::empty()) {
        Ok(file) => File::from(ours_alone(file, FileType::RegularFile)?),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The same, when it is of this type, ours, and closed to everybody else.
fn ours_alone(opened: OwnedFd, expected: FileType) -> io::Result<OwnedFd> {
    let stat = fstat(&opened)?;
    let refused = |reason: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    if FileType::from_raw_mode(stat.st_mode) != expected {
        return refused("it is of the wrong type".to_owned());
    }
    if stat.st_uid != geteuid().as_raw() {
        return refused(format!("it belongs to user {}", stat.st_uid));
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        return refused(format!(
            "its mode is {:o}, so others can use it; expected one only you can enter (mode 700)",
            mode.as_raw_mode()
        ));
    }
    Ok(opened)
}

//! How often somebody else's work was found in the cache: kept beside the entries, so that it outlives the process
//! that noticed.
//!
//! The file has one byte for each time; appending one is atomic between processes, and the time of the last is the
//! file's own.

use std::io::{self, Write as _};

use super::folder::Folder;

/// The file's name.
pub(super) const NAME: &str = "rejected";

/// After so many it is clear enough, and the disk is not filled by whoever fills the cache.
const MAX_BYTES: u64 = 1 << 20;

/// How often, and when last in seconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Alarms {
    pub(super) count: u64,
    pub(super) last_unix_seconds: Option<i64>,
}

/// Counts one.
pub(super) fn raise(folder: &Folder) -> io::Result<()> {
    let mut file = folder.append(NAME)?;
    if file.metadata()?.len() < MAX_BYTES {
        file.write_all(b"x")?;
    }
    Ok(())
}

/// Reads the counter.
pub(super) fn read(folder: &Folder) -> io::Result<Alarms> {
    use std::os::unix::fs::MetadataExt as _;

    let Some(file) = folder.read(NAME)? else {
        return Ok(Alarms::default());
    };
    let metadata = file.metadata()?;
    Ok(Alarms { count: metadata.len(), last_unix_seconds: Some(metadata.mtime()) })
}

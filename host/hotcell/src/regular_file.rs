//! Opens files that somebody named, and only files: opening a pipe would wait for whoever writes to it.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file for reading. Never waits: the kind of file is looked at before it is opened.
///
/// # Errors
/// The file does not exist or cannot be read, or it is a directory, pipe, socket or device.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a directory; name a file inside of it",
        ));
    }
    if !kind.is_file() {
        let reason = "it is a pipe, socket or device; name a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        assert!(open_regular_file(Path::new("src/lib.rs")).is_ok());
        for (path, expected) in
            [("/", "directory"), ("/dev/null", "device"), ("/no/such/file", "No such file")]
        {
            let error = open_regular_file(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains(expected), "{path}: {error}");
        }
    }
}

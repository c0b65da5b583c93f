//! Where the code of an entry is kept while it is checked and after.
//!
//! The file of the entry may change at any time, so the code is copied before it is hashed: where the system has them,
//! into a file without a name that is sealed against every change, because the engine can map such a file and
//! need not copy it once more; else into memory.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use hotcell_core::artifact::Code;

/// Code that is being read.
#[derive(Debug)]
pub(super) enum Hold {
    Memory(Vec<u8>),
    Nameless(File),
}

impl Hold {
    /// A place for so many bytes.
    pub(super) fn new(bytes: u64) -> io::Result<Self> {
        match nameless() {
            Ok(file) => Ok(Self::Nameless(file)),
            // Without such files, or without a descriptor for one, there is always memory.
            Err(_none) => {
                let mut code = Vec::new();
                code.try_reserve_exact(usize::try_from(bytes).map_err(io::Error::other)?)
                    .map_err(io::Error::other)?;
                Ok(Self::Memory(code))
            }
        }
    }

    /// The code, which cannot be changed from now on.
    pub(super) fn seal(self) -> io::Result<Code> {
        match self {
            Self::Memory(code) => Ok(Code::Memory(Arc::new(code))),
            Self::Nameless(file) => {
                seal(&file)?;
                let bytes = file.metadata()?.len();
                Ok(Code::Sealed { file: Arc::new(file), bytes })
            }
        }
    }
}

impl Write for Hold {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Memory(code) => code.write(bytes),
            Self::Nameless(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};

    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(File::from(memfd_create("hotcell-artifact", flags)?))
}

#[cfg(target_os = "linux")]
fn seal(file: &File) -> io::Result<()> {
    use rustix::fs::{SealFlags, fcntl_add_seals};

    let all = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    Ok(fcntl_add_seals(file, all)?)
}

#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn seal(_file: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_code_cannot_be_changed_by_anybody() {
        for mut hold in [Hold::new(5).unwrap(), Hold::Memory(Vec::new())] {
            hold.write_all(b"hello").unwrap();
            let code = hold.seal().unwrap();
            assert_eq!((code.bytes(), &*code.read().unwrap()), (5, b"hello".as_slice()));
            if let Code::Sealed { file, .. } = &code {
                let mut again = file.try_clone().unwrap();
                assert!(again.write_all(b"x").is_err());
                assert!(again.set_len(0).is_err());
                let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&**file));
                let mut opened = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                assert!(opened.write_all(b"x").is_err());
            }
        }
    }
}

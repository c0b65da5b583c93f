//! The key of the cache: random, made once, readable by its owner alone.

use std::io::{self, Read as _};
use std::path::Path;

use super::CacheError;
use super::folder::Folder;
use super::mac::{self, Key};
use super::temporary::Steps;

/// Beside the folder of the entries, so that whoever is given the entries does not get the key.
pub(super) const NAME: &str = "key";

/// Where a key is.
pub(super) struct Place<'a> {
    folder: Folder,
    name: &'a str,
}

impl Place<'static> {
    /// In the folder of the cache.
    pub(super) fn in_cache(path: &Path) -> Result<Self, CacheError> {
        Ok(Self { folder: Folder::open(path)?, name: NAME })
    }
}

impl<'a> Place<'a> {
    /// A file of its own. Its folder need not be private: the file itself must be.
    pub(super) fn at(path: &'a Path) -> Result<Self, CacheError> {
        let unnamed = || CacheError::new(format!("the key file `{}` has no name", path.display()));
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(unnamed)?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self { folder: Folder::open_shared(above)?, name })
    }

    /// Reads the key.
    pub(super) fn load(&self) -> Result<Key, CacheError> {
        self.read().map_err(|error| self.fault(&error))?.ok_or_else(|| self.fault(&"there is none"))
    }

    /// Reads the key, or makes one when there is none.
    pub(super) fn load_or_make(&self, steps: Steps<'_>) -> Result<Key, CacheError> {
        if let Some(key) = self.read().map_err(|error| self.fault(&error))? {
            return Ok(key);
        }
        let mut bytes = [0; mac::BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| CacheError::new(format!("no randomness for the key of the cache: {error}")))?;
        // When another process was faster, its key is the one that counts.
        self.folder.write_new(self.name, &bytes, steps).map_err(|error| self.fault(&error))?;
        self.load()
    }

    fn read(&self) -> io::Result<Option<Key>> {
        let Some(mut file) = self.folder.read(self.name)? else {
            return Ok(None);
        };
        let mut bytes = [0; mac::BYTES];
        file.read_exact(&mut bytes)?;
        if file.read(&mut [0])? != 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than 32 bytes"));
        }
        Ok(Some(Key(bytes)))
    }

    fn fault(&self, reason: &dyn std::fmt::Display) -> CacheError {
        CacheError::new(format!(
            "the key of the cache, `{}`, cannot be used: {reason}; expected 32 bytes only you can read; remove it \
             to get a new one",
            self.folder.show(self.name)
        ))
    }
}

//! The key of the cache: random, made once, readable by its owner alone.

use std::io::{self, Read as _};

use super::CacheError;
use super::entry::Key;
use super::folder::Folder;

/// Beside the folder of the entries, so that whoever is given the entries does not get the key.
const NAME: &str = "key";

/// Reads the key of the cache, or makes one when there is none.
pub(super) fn load_or_make(folder: &Folder) -> Result<Key, CacheError> {
    let fault = |error: io::Error| {
        CacheError::new(format!(
            "the key of the cache, `{}`, cannot be used: {error}; remove it to get a new one",
            folder.show(NAME)
        ))
    };
    if let Some(key) = load(folder).map_err(fault)? {
        return Ok(key);
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| CacheError::new(format!("no randomness for the key of the cache: {error}")))?;
    // When another process was faster, its key is the one that counts.
    folder.write_new(NAME, &bytes).map_err(fault)?;
    load(folder).map_err(fault)?.ok_or_else(|| fault(io::Error::from(io::ErrorKind::NotFound)))
}

fn load(folder: &Folder) -> io::Result<Option<Key>> {
    let Some(mut file) = folder.read(NAME)? else {
        return Ok(None);
    };
    let mut bytes = [0; 32];
    file.read_exact(&mut bytes)?;
    if file.read(&mut [0])? != 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than 32 bytes"));
    }
    Ok(Some(Key(bytes)))
}

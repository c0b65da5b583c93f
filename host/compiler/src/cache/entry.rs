//! One entry: what it was made from, the code, and a keyed hash over both.
//!
//! ```text
//! magic (8) | source digest (32) | engine length (4), text | target length (4), text | format (4) | code length (8)
//! code
//! HMAC-SHA-256 over all of the above (32)
//! ```
//! Numbers are little-endian. The part in front of the code follows from the header alone, so reading compares it
//! byte for byte and parses nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::iter::repeat_n;
use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use hotcell_core::artifact::ArtifactHeader;
use hotcell_core::ids::Digest;
use sha2::Sha256;

const MAGIC: &[u8; 8] = b"HOTCELL\x01";
const MAC_BYTES: usize = 32;
const LENGTH_BYTES: usize = 8;

/// The key of one cache.
pub(super) struct Key(pub(super) [u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    fn mac(&self) -> io::Result<Hmac<Sha256>> {
        Hmac::new_from_slice(&self.0).map_err(io::Error::other)
    }
}

/// The entry for one header.
#[derive(Debug)]
pub(super) struct Entry {
    prefix: Vec<u8>,
}

/// Code whose keyed hash was checked.
#[derive(Debug)]
pub(super) struct Verified(Arc<[u8]>);

impl Verified {
    pub(super) fn into_bytes(self) -> Arc<[u8]> {
        self.0
    }
}

/// An entry to be written.
#[derive(Debug)]
pub(super) struct Sealed<'a> {
    prefix: Vec<u8>,
    code: &'a [u8],
    mac: [u8; MAC_BYTES],
}

impl Sealed<'_> {
    pub(super) fn parts(&self) -> [&[u8]; 3] {
        [&self.prefix, self.code, &self.mac]
    }
}

impl Entry {
    pub(super) fn of(header: &ArtifactHeader) -> Self {
        let mut prefix = Vec::with_capacity(128);
        prefix.extend_from_slice(MAGIC);
        prefix.extend_from_slice(header.source.as_bytes());
        for text in [&header.engine, &header.target] {
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            prefix.extend_from_slice(&length.to_le_bytes());
            prefix.extend_from_slice(text.as_bytes());
        }
        prefix.extend_from_slice(&header.format.to_le_bytes());
        Self { prefix }
    }

    /// Follows from the header alone, so no text from outside becomes a path.
    pub(super) fn file_name(&self) -> String {
        Digest::of(&self.prefix).to_hex()
    }

    pub(super) fn seal<'a>(&self, key: &Key, code: &'a [u8]) -> io::Result<Sealed<'a>> {
        let prefix = [self.prefix.as_slice(), &(code.len() as u64).to_le_bytes()].concat();
        let mut mac = key.mac()?;
        mac.update(&prefix);
        mac.update(code);
        Ok(Sealed { prefix, code, mac: mac.finalize().into_bytes().into() })
    }

    /// Reads the code of an entry into memory and checks the keyed hash there.
    pub(super) fn open(&self, key: &Key, mut file: File, limit: u64) -> io::Result<Verified> {
        let around = (self.prefix.len() + LENGTH_BYTES + MAC_BYTES) as u64;
        let length = file.metadata()?.len();
        let code_length = length
            .checked_sub(around)
            .filter(|_| length <= limit)
            .and_then(|code| usize::try_from(code).ok())
            .ok_or_else(|| wrong("its length is wrong"))?;
        let mut prefix = vec![0; self.prefix.len() + LENGTH_BYTES];
        file.read_exact(&mut prefix)?;
        let expected = [self.prefix.as_slice(), &(code_length as u64).to_le_bytes()].concat();
        if prefix != expected {
            return Err(wrong("it is of something else"));
        }
        // One allocation, filled by the read below and handed on as it is.
        let mut code: Arc<[u8]> = repeat_n(0, code_length).collect();
        let bytes = Arc::get_mut(&mut code).ok_or_else(|| wrong("it is shared"))?;
        file.read_exact(bytes)?;
        let mut tag = [0; MAC_BYTES];
        file.read_exact(&mut tag)?;
        let mut mac = key.mac()?;
        mac.update(&prefix);
        mac.update(&code);
        // Compares in constant time.
        mac.verify_slice(&tag).map_err(io::Error::other)?;
        Ok(Verified(code))
    }
}

fn wrong(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

//! One entry: what it was made from, the code, and a keyed hash over both.
//!
//! ```text
//! magic (8) | source digest (32) | engine, target and processor, each as length (4) and text | format (4)
//! code length (8)
//! code
//! keyed hash over all of the above (32)
//! ```
//! Numbers are little-endian. The part in front of the code follows from the header alone, so reading compares it
//! byte for byte and parses nothing.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use hotcell_core::artifact::{ArtifactHeader, Code};
use hotcell_core::ids::Digest;

use super::hold::Hold;
use super::mac::{self, Key, KeyedHash};

const MAGIC: &[u8; 8] = b"HOTCELL\x02";
const LENGTH_BYTES: usize = 8;

/// Bytes that are read and then hashed while the processor still has them at hand.
const CHUNK_BYTES: usize = 256 << 10;

/// Digits of the part of a file name that says for which engine, machine and key an entry is.
const GENERATION_DIGITS: usize = 16;

/// The entry for one header.
#[derive(Debug)]
pub(super) struct Entry {
    prefix: Vec<u8>,
    file_name: String,
}

/// Code whose keyed hash was checked, held where nobody can change it any more.
#[derive(Debug)]
pub(super) struct Verified(Code);

impl Verified {
    pub(super) fn into_code(self) -> Code {
        self.0
    }
}

/// Why the code of an entry is not used.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is not what we wrote.
    NotOurs,
    /// The system does not let us read it; that says nothing about the entry.
    Unreadable,
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Shorter than it says, or no file of ours alone.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Self::NotOurs,
            _ => Self::Unreadable,
        }
    }
}

/// An entry to be written.
#[derive(Debug)]
pub(super) struct Sealed<'a> {
    prefix: Vec<u8>,
    code: &'a [u8],
    mac: [u8; mac::BYTES],
}

impl Sealed<'_> {
    pub(super) fn parts(&self) -> [&[u8]; 3] {
        [&self.prefix, self.code, &self.mac]
    }

    pub(super) fn bytes(&self) -> u64 {
        self.parts().iter().map(|part| part.len() as u64).sum()
    }
}

impl Entry {
    /// The entry of a cache with this key; entries of another key have other names, so a new key makes plain misses.
    pub(super) fn of(header: &ArtifactHeader, key: &Key) -> Self {
        let mut machine = Vec::with_capacity(256);
        for text in [&header.engine, &header.target, &header.cpu] {
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            machine.extend_from_slice(&length.to_le_bytes());
            machine.extend_from_slice(text.as_bytes());
        }
        machine.extend_from_slice(&header.format.to_le_bytes());
        let prefix = [MAGIC, header.source.as_bytes().as_slice(), &machine].concat();
        let mut generation = KeyedHash::new(key);
        generation.update(&machine);
        let generation = Digest::of(&generation.finish()).to_hex();
        let generation = generation.split_at(GENERATION_DIGITS).0;
        let file_name = format!("{generation}-{}", Digest::of(&prefix).to_hex());
        Self { prefix, file_name }
    }

    /// Follows from digests alone, so no text from outside becomes a path.
    pub(super) fn file_name(&self) -> &str {
        &self.file_name
    }

    /// What the names of all entries for the same engine, machine and key start with.
    pub(super) fn generation(&self) -> &str {
        self.file_name.split_at(GENERATION_DIGITS).0
    }

    pub(super) fn seal<'a>(&self, key: &Key, code: &'a [u8]) -> Sealed<'a> {
        let prefix = self.prefix_of(code.len() as u64);
        let mut hash = KeyedHash::new(key);
        hash.update(&prefix);
        hash.update(code);
        Sealed { prefix, code, mac: hash.finish() }
    }

    /// Reads the code of an entry into memory and checks the keyed hash there.
    pub(super) fn open(&self, key: &Key, mut file: &File, max_bytes: u64) -> Result<Verified, Refusal> {
        let around = (self.prefix.len() + LENGTH_BYTES + mac::BYTES) as u64;
        let length = file.metadata()?.len();
        let code_bytes =
            length.checked_sub(around).filter(|_| length <= max_bytes).ok_or(Refusal::NotOurs)?;
        let expected = self.prefix_of(code_bytes);
        let mut prefix = vec![0; expected.len()];
        file.read_exact(&mut prefix)?;
        if prefix != expected {
            return Err(Refusal::NotOurs);
        }
        let mut hash = KeyedHash::new(key);
        hash.update(&prefix);
        let code = read_hashed(file, code_bytes, &mut hash)?;
        let mut tag = [0; mac::BYTES];
        file.read_exact(&mut tag)?;
        if hash.is(tag) { Ok(Verified(code.seal()?)) } else { Err(Refusal::NotOurs) }
    }

    fn prefix_of(&self, code_bytes: u64) -> Vec<u8> {
        [self.prefix.as_slice(), &code_bytes.to_le_bytes()].concat()
    }
}

/// Reads so many bytes and hashes what it keeps of them.
fn read_hashed(mut file: &File, bytes: u64, hash: &mut KeyedHash) -> Result<Hold, Refusal> {
    let mut hold = Hold::new(bytes)?;
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    let mut left = bytes;
    while left > 0 {
        chunk.clear();
        let read = (&mut file).take(left.min(CHUNK_BYTES as u64)).read_to_end(&mut chunk)? as u64;
        if read == 0 {
            return Err(Refusal::NotOurs);
        }
        hash.update(&chunk);
        hold.write_all(&chunk)?;
        left -= read;
    }
    Ok(hold)
}

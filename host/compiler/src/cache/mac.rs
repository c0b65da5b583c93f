//! The keyed hash over entries.

use std::io;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a key and of a hash.
pub(super) const BYTES: usize = 32;

/// The key of one cache.
pub(super) struct Key(pub(super) [u8; BYTES]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A keyed hash in the making.
pub(super) struct KeyedHash(Hmac<Sha256>);

impl KeyedHash {
    pub(super) fn new(key: &Key) -> io::Result<Self> {
        Hmac::new_from_slice(&key.0).map(Self).map_err(io::Error::other)
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> [u8; BYTES] {
        self.0.finalize().into_bytes().into()
    }

    /// Compares in constant time.
    pub(super) fn is(self, expected: &[u8; BYTES]) -> bool {
        self.0.verify_slice(expected).is_ok()
    }
}

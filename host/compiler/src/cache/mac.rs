//! The keyed hash over entries: BLAKE3 with a key.
//!
//! HMAC-SHA-256 would do as well and takes twice as long, which for a large component is most of what a load costs
//! that finds its artifact in the cache.

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
pub(super) struct KeyedHash(blake3::Hasher);

impl KeyedHash {
    pub(super) fn new(key: &Key) -> Self {
        Self(blake3::Hasher::new_keyed(&key.0))
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> [u8; BYTES] {
        self.0.finalize().into()
    }

    /// Compares in constant time.
    pub(super) fn is(self, expected: [u8; BYTES]) -> bool {
        self.0.finalize() == blake3::Hash::from(expected)
    }
}

//! How guest code is compiled and run: one set of values for the room that compiles and the room that runs.
//!
//! An artifact loads only into an engine with the settings it was compiled for. Both rooms build
//! an engine of their own from [`EngineProfile`]: the compiler one that allocates on demand, the
//! sandbox one with a pool. How instances are allocated is not part of the profile.

use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use sha2::{Digest as _, Sha256};

/// The settings that the code of a guest depends on, and those that bound what an engine does.
///
/// Fuel, epochs, the Cranelift compiler and guard pages are not choices of a profile: they are always on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the engine, set once and by name")]
pub struct EngineProfile {
    /// Bytes of stack that guest code may use.
    ///
    /// Stops endless recursion, which ends as a trap long before the host's own stack is used up.
    pub max_wasm_stack_bytes: usize,
    /// Bytes of address space per linear memory.
    ///
    /// 4 GiB is all a 32-bit address can name, so an access out of bounds meets a page that faults
    /// instead of memory of the host, without a check before each access.
    pub memory_reservation_bytes: u64,
    /// Bytes of faulting address space behind each memory.
    ///
    /// Stops an access whose constant offset points past the reservation.
    pub memory_guard_bytes: u64,
    /// Whether there is such a guard in front of each memory as well; stops a miscompiled negative offset.
    pub guard_before_memory: bool,
    /// Whether initial data is mapped copy-on-write, so that a new instance costs no copying.
    pub copy_on_write: bool,
    /// Frames kept of a trap's backtrace; stops deep recursion from making a trap expensive.
    pub backtrace_frames: usize,
    /// Whether artifacts say which wasm instruction each machine instruction came from.
    ///
    /// Trap kinds and function names do not need it, and it adds to the size of each artifact.
    pub address_map: bool,
    /// Whether artifacts carry unwind tables for native debuggers; guests are unwound by frame pointers.
    ///
    /// Registering the tables costs time at each load. Windows cannot do without.
    pub unwind_info: bool,
    /// Whether artifacts carry a symbol table for native profilers.
    pub debug_symbols: bool,
    /// Features of WebAssembly and of the component model that are refused, by the name of the
    /// engine's feature flag.
    ///
    /// Stops attacks on the parts of the engine that are newest and least used. Each one that a
    /// tool turns out to need is a decision of its own. What is not listed stays as the engine
    /// has it: tail calls, SIMD, several memories, reference types, bulk memory.
    pub features_off: &'static [&'static str],
}

/// The profile for components nobody trusts; the only one.
pub const UNTRUSTED: EngineProfile = EngineProfile {
    max_wasm_stack_bytes: 512 << 10,
    memory_reservation_bytes: 4 << 30,
    memory_guard_bytes: 32 << 20,
    guard_before_memory: true,
    copy_on_write: true,
    backtrace_frames: 20,
    address_map: false,
    unwind_info: cfg!(windows),
    debug_symbols: false,
    features_off: &[
        "THREADS",
        "SHARED_EVERYTHING_THREADS",
        "MEMORY64",
        "GC",
        "GC_TYPES",
        "FUNCTION_REFERENCES",
        "EXCEPTIONS",
        "LEGACY_EXCEPTIONS",
        "RELAXED_SIMD",
        "STACK_SWITCHING",
        "CUSTOM_PAGE_SIZES",
        "WIDE_ARITHMETIC",
        "CM_ASYNC",
        "CM_ASYNC_STACKFUL",
        "CM_MORE_ASYNC_BUILTINS",
        "CM_THREADING",
        "CM_ERROR_CONTEXT",
        "CM_GC",
        "CM_MAP",
        "CM64",
        "CM_FIXED_LENGTH_LISTS",
        "CM_IMPLEMENTS",
    ],
};

/// What [`ArtifactHeader::engine`](crate::artifact::ArtifactHeader::engine) says: the engine's version and a
/// hash of everything its code depends on.
///
/// `version` is what the engine calls itself, such as `wasmtime-48`; `compatibility` is its own statement of
/// what must be equal for an artifact to load. The text is the same in each process of one build
/// on one machine; it is not meant to travel to another.
#[must_use]
pub fn fingerprint(version: &str, compatibility: &impl Hash) -> String {
    let mut hasher = Sha256Hasher(Sha256::new());
    compatibility.hash(&mut hasher);
    let digest = hasher.0.finalize();
    digest.iter().take(16).fold(format!("{version}-"), |mut text, byte| {
        if write!(text, "{byte:02x}").is_err() {
            unreachable!("writing to a string cannot fail");
        }
        text
    })
}

/// Feeds a [`Hash`] into SHA-256, because the standard hasher has only 64 bits and promises no
/// stable result.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_depends_on_the_version_and_on_what_is_hashed() {
        let text = fingerprint("engine-1", &("x86_64", 7_u32));
        assert_eq!(text, fingerprint("engine-1", &("x86_64", 7_u32)));
        assert_ne!(text, fingerprint("engine-2", &("x86_64", 7_u32)));
        assert_ne!(text, fingerprint("engine-1", &("x86_64", 8_u32)));
        assert_eq!(text.len(), "engine-1-".len() + 32);
    }
}

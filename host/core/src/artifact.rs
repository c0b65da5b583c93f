//! Compiled components: bytes that are native code, so where they come from is part of their type.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::Digest;

/// What an artifact was made from and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArtifactHeader {
    /// The digest of the component.
    pub source: Digest,
    /// Version and settings of the engine; another engine refuses the artifact.
    pub engine: String,
    /// The processor's family and the operating system.
    pub target: String,
    /// The features of the processor that the code may use; on a processor without them it would be illegal
    /// instructions, so a machine with other features refuses it.
    pub cpu: String,
    /// The version of our own format.
    pub format: u32,
}

/// The version of [`ArtifactHeader`] and what surrounds it.
pub const ARTIFACT_FORMAT: u32 = 2;

/// Native code made by our own compiler from a component.
///
/// Loading it runs it, so nothing but [`Artifact::from_compiler`] makes one, and that is `unsafe`:
/// a hand-made artifact is arbitrary code in this process.
#[derive(Debug, Clone)]
pub struct Artifact {
    header: ArtifactHeader,
    /// A vector and not a slice, because what was read from a file becomes this without a copy.
    code: Arc<Vec<u8>>,
}

impl Artifact {
    /// States that these bytes are compiler output.
    ///
    /// # Safety
    /// `code` must be, byte for byte, what the engine's compiler wrote for `header`, taken either
    /// from the compiler itself or from storage whose integrity was verified on these very bytes.
    #[must_use]
    #[expect(
        unsafe_code,
        reason = "declares a contract that the type system cannot check: the origin of native code"
    )]
    pub unsafe fn from_compiler(header: ArtifactHeader, code: Vec<u8>) -> Self {
        Self { header, code: Arc::new(code) }
    }

    /// What it was made from.
    #[must_use]
    pub fn header(&self) -> &ArtifactHeader {
        &self.header
    }

    /// The native code.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        &self.code
    }
}

//! Compiled components: bytes that are native code, so where they come from is part of their type.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
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
    code: Code,
}

/// Where native code is held.
#[derive(Debug, Clone)]
pub enum Code {
    /// In memory of this process.
    Memory(Arc<Vec<u8>>),
    /// In a file without a name that nobody can change any more, so that it can be mapped instead of copied.
    Sealed {
        /// The file.
        file: Arc<File>,
        /// Its length.
        bytes: u64,
    },
}

impl Code {
    /// How many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Memory(code) => code.len() as u64,
            Self::Sealed { bytes, .. } => *bytes,
        }
    }

    /// The bytes in memory.
    ///
    /// # Errors
    /// A sealed file cannot be read, or not into memory.
    pub fn read(&self) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::Memory(code) => Ok(Cow::Borrowed(code)),
            Self::Sealed { file, bytes } => {
                let mut code = vec![0; usize::try_from(*bytes).map_err(io::Error::other)?];
                file.read_exact_at(&mut code, 0)?;
                Ok(Cow::Owned(code))
            }
        }
    }
}

impl Artifact {
    /// States that these bytes are compiler output.
    ///
    /// # Safety
    /// `code` must be, byte for byte, what the engine's compiler wrote for `header`, taken either
    /// from the compiler itself or from storage whose integrity was verified on these very bytes. A file must be
    /// sealed against every change.
    #[must_use]
    #[expect(
        unsafe_code,
        reason = "declares a contract that the type system cannot check: the origin of native code"
    )]
    pub unsafe fn from_compiler(header: ArtifactHeader, code: Code) -> Self {
        Self { header, code }
    }

    /// What it was made from.
    #[must_use]
    pub fn header(&self) -> &ArtifactHeader {
        &self.header
    }

    /// The native code.
    #[must_use]
    pub fn code(&self) -> &Code {
        &self.code
    }
}

//! What can be wrong with bytes, and with compiling them.

use std::path::PathBuf;
use std::time::Duration;

use hotcell_core::text::{cap_chars, escape_control};
use hotcell_core::units::{format_bytes, format_duration};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::definitions::DefinitionsError;
use crate::inspect::Counted;

/// Characters of one piece of text from a file that an error repeats.
const MAX_QUOTE_CHARS: usize = 200;

/// What a file is when it is not a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileKind {
    /// A core WebAssembly module.
    CoreModule,
    /// WebAssembly of an encoding or version that is not known here.
    OtherWasm,
    /// WebAssembly in its text form.
    WasmText,
    /// Native code that wasmtime compiled ahead of time.
    Precompiled,
    /// A program or library for a machine, as Linux has them.
    NativeProgram,
    /// A program or library for Windows.
    WindowsProgram,
    /// A program or library for macOS.
    MacProgram,
    /// Text that an interpreter runs.
    Script,
    /// A web page; most often what a server sent instead of the file.
    WebPage,
    /// JSON; most often what a server sent instead of the file.
    Json,
    /// A zip archive.
    Zip,
    /// A gzip file, such as a `.tar.gz`.
    Gzip,
    /// Another archive or compressed file.
    Archive,
    /// Text of some other kind.
    Text,
    /// None of the above.
    Unknown,
}

impl FileKind {
    /// What the file is, as a noun with its article.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::CoreModule => "a core WebAssembly module",
            Self::OtherWasm => "WebAssembly of a version that is not supported",
            Self::WasmText => "WebAssembly text (WAT)",
            Self::Precompiled => "native code that wasmtime compiled ahead of time",
            Self::NativeProgram => "a native program or library (ELF)",
            Self::WindowsProgram => "a native program or library for Windows (PE)",
            Self::MacProgram => "a native program or library for macOS (Mach-O)",
            Self::Script => "a script (it begins with `#!`)",
            Self::WebPage => "a web page (HTML)",
            Self::Json => "JSON",
            Self::Zip => "a zip archive",
            Self::Gzip => "a gzip archive",
            Self::Archive => "an archive or compressed file",
            Self::Text => "a text file",
            Self::Unknown => "not WebAssembly",
        }
    }

    /// What to do to get a component.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::CoreModule => {
                "build for the target `wasm32-wasip2`, or wrap the module: `wasm-tools component new MODULE.wasm -o TOOL.wasm`"
            }
            Self::OtherWasm => "build it again with a toolchain for WASI 0.2 (target `wasm32-wasip2`)",
            Self::WasmText => "turn it into the binary form: `wasm-tools parse FILE.wat -o TOOL.wasm`",
            Self::Precompiled => {
                "give the `.wasm` component it was compiled from; compiled code is never accepted from outside"
            }
            Self::NativeProgram | Self::WindowsProgram | Self::MacProgram => {
                "build the program for the target `wasm32-wasip2`"
            }
            Self::Script => "build a component from it; a tool is never run by an interpreter of the host",
            Self::WebPage | Self::Json => {
                "download the file again and read what the server says; this is most often a page about an error"
            }
            Self::Zip | Self::Gzip | Self::Archive => "unpack it and give the `.wasm` component inside",
            Self::Text | Self::Unknown => {
                "give the `.wasm` file that the build wrote, such as `target/wasm32-wasip2/release/NAME.wasm`"
            }
        }
    }
}

/// Says why bytes are not a component that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoadError {
    /// The file has no bytes.
    #[error("expected a WebAssembly component, found an empty file")]
    Empty,
    /// The file is something else.
    #[error("expected a WebAssembly component, found {}", found.describe())]
    NotComponent {
        /// What it is.
        found: FileKind,
    },
    /// The file ends too early.
    #[error("the component is cut off: it ends after {bytes} bytes, in the middle of {place}")]
    Truncated {
        /// Bytes present.
        bytes: u64,
        /// Where it ends.
        place: String,
    },
    /// The file is larger than allowed.
    #[error("the component has {}, at most {} are allowed", format_bytes(*bytes), format_bytes(*limit))]
    TooLarge {
        /// Bytes found; when reading stopped at the limit, the bytes read.
        bytes: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The component has more of something than any real one; see [`BOUNDS`](crate::inspect::BOUNDS).
    #[error("the component has {found} {counted} or more, at most {limit} are allowed{}", at(Some(*offset)))]
    TooMany {
        /// What it has too many of.
        counted: Counted,
        /// How many were found before looking stopped.
        found: u64,
        /// The most that is allowed.
        limit: u64,
        /// The byte at which it shows.
        offset: u64,
    },
    /// The file breaks a rule of WebAssembly.
    #[error("the component is not valid: {reason}{}", at(*offset))]
    Invalid {
        /// The rule, in the words of the validator, escaped and capped.
        reason: String,
        /// The byte at which it shows.
        offset: Option<u64>,
    },
    /// The component uses a feature that is switched off.
    #[error("the component uses `{feature}`, which is switched off here{}: {reason}", at(*offset))]
    UnsupportedFeature {
        /// The feature, as the proposal is called.
        feature: String,
        /// What the validator met, escaped and capped.
        reason: String,
        /// The byte at which it shows.
        offset: Option<u64>,
    },
    /// The component imports what this version does not have.
    #[error("the component imports what this version does not offer: {}", names.join(", "))]
    UnsupportedImport {
        /// The imports, with their versions, escaped and capped.
        names: Vec<String>,
    },
    /// The component does not export what makes it a set of tools.
    #[error("the component is no set of tools: it does not export {}", names(missing))]
    NotATool {
        /// The interface, or the functions of it.
        missing: Vec<String>,
    },
    /// The section with the tools' definitions is wrong.
    #[error("the section `{section}` is wrong: {0}", section = crate::definitions::SECTION)]
    Definitions(DefinitionsError),
}

impl LoadError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty
            | Self::NotComponent { .. }
            | Self::Truncated { .. }
            | Self::TooMany { .. }
            | Self::Invalid { .. }
            | Self::NotATool { .. }
            | Self::Definitions(_) => "invalid_component",
            Self::TooLarge { .. } => "too_large",
            Self::UnsupportedFeature { .. } => "unsupported_feature",
            Self::UnsupportedImport { .. } => "unsupported_import",
        }
    }

    /// What to do about it, as an imperative without a full stop.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Empty => "check that the build or the copy finished; the file has no bytes".into(),
            Self::NotComponent { found } => found.advice().into(),
            Self::Truncated { .. } => "copy or download the file again; compare its size with the original".into(),
            Self::TooLarge { .. } => {
                "build in release mode and strip debug information (`-C strip=symbols`)".into()
            }
            Self::TooMany { .. } => {
                "build it in release mode, or split it into several tools; the bound is far above what toolchains write".into()
            }
            Self::Invalid { .. } => {
                "build it again with a current toolchain; `wasm-tools validate FILE` shows the same fault".into()
            }
            Self::UnsupportedFeature { .. } => {
                "build for the plain target `wasm32-wasip2`, without flags that switch this feature on".into()
            }
            Self::UnsupportedImport { .. } => {
                "build the tool against WASI 0.2 and the `hotcell` interfaces of this version only, or update hotcell".into()
            }
            Self::NotATool { .. } => {
                "build it with the `hotcell-tool` crate (`hotcell tool new NAME` starts a project)".into()
            }
            Self::Definitions(error) => error.advice().into(),
        }
    }

    pub(crate) fn invalid(reason: &str, offset: Option<usize>) -> Self {
        Self::Invalid { reason: quote(reason), offset: offset.map(|offset| offset as u64) }
    }
}

/// Text from a file as an error may show it: short and without control characters.
pub(crate) fn quote(text: &str) -> String {
    escape_control(&cap_chars(text, MAX_QUOTE_CHARS))
}

fn names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

fn at(offset: Option<u64>) -> String {
    offset.map_or_else(String::new, |offset| format!(" (at byte {offset})"))
}

/// Says why a component was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The bytes are not a component that can be loaded.
    #[error(transparent)]
    Component(#[from] LoadError),
    /// Compiling took too long.
    #[error("compiling did not end within {}", format_duration(*limit))]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// Compiling needed more than it may use.
    #[error("compiling was stopped: {reason}")]
    Limit {
        /// Which limit, and what was seen.
        reason: String,
    },
    /// Too many components wait to be compiled.
    #[error("{waiting} components wait to be compiled already, and no more may")]
    Overloaded {
        /// How many wait.
        waiting: usize,
    },
    /// Nobody waited for it any more.
    #[error("nobody waited for it any more")]
    Cancelled,
    /// Artifacts are made beforehand here, and there is none of this component.
    #[error(
        "there is no good artifact of it for this engine and this processor in `{}`, and nothing is compiled here",
        quote(&folder.to_string_lossy())
    )]
    NotCompiled {
        /// Where the artifacts are.
        folder: PathBuf,
    },
    /// A wall around the compile process is missing, and all are required.
    #[error(
        "nothing is compiled without all walls around the compile process, and some are missing: {missing}"
    )]
    Isolation {
        /// Which, and why, escaped and capped.
        missing: String,
    },
    /// It was not tried, because it ended badly each time it was.
    #[error("{last}; after {times} such ends it is not tried again for {}", format_duration(*pause))]
    NotTried {
        /// How it ended the last time.
        last: Box<Self>,
        /// How often it did.
        times: u32,
        /// For how long it is not tried, counted from the last end.
        pause: Duration,
    },
    /// A fault of the host or of the compile process.
    #[error("compiling failed: {reason}")]
    Internal {
        /// What happened, with the last words of the compile process, escaped and capped.
        reason: String,
    },
}

impl CompileError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Component(error) => error.code(),
            Self::Timeout { .. } => "compile_timeout",
            Self::Limit { .. } => "compile_limit",
            Self::Overloaded { .. } => "overloaded",
            Self::Cancelled => "cancelled",
            Self::NotCompiled { .. } => "not_compiled",
            Self::Isolation { .. } => "isolation_missing",
            Self::NotTried { last, .. } => last.code(),
            Self::Internal { .. } => "internal",
        }
    }

    /// What to do about it, as an imperative without a full stop.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Component(error) => error.advice(),
            Self::Timeout { .. } => {
                "if you trust the component, raise the compile time limit; a component of this size rarely needs it".into()
            }
            Self::Limit { .. } => {
                "if you trust the component, raise the compile limits; hostile components are made to need this much".into()
            }
            Self::Overloaded { .. } => {
                "try again when some of them are done, or allow more compile workers; compiling beforehand with `hotcell tool compile` avoids the wait".into()
            }
            Self::Cancelled => "load it again".into(),
            Self::NotCompiled { folder } => format!(
                "make it with `hotcell tool compile FILE --out {}`, with this version of hotcell on a machine with this processor",
                quote(&folder.to_string_lossy())
            ),
            Self::Isolation { .. } => {
                "run on a Linux kernel with Landlock and seccomp, see `hotcell doctor`; or set `isolation = \"best-effort\"` in `[compile]` of the policy to compile behind the walls there are".into()
            }
            Self::NotTried { last, .. } => last.advice(),
            Self::Internal { .. } => {
                "try again; if it stays, run `hotcell doctor` and check free memory and disk space".into()
            }
        }
    }

    #[cfg(feature = "compile")]
    pub(crate) fn isolation(missing: &str) -> Self {
        Self::Isolation { missing: escape_control(&cap_chars(missing, 1_000)) }
    }

    #[cfg(feature = "compile")]
    pub(crate) fn internal(reason: impl AsRef<str>) -> Self {
        Self::Internal { reason: escape_control(&cap_chars(reason.as_ref(), 1_000)) }
    }
}

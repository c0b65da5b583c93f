//! What the compiling process is told, and what it answers.
//!
//! Told by its arguments and standard input (the component); answered by one line of JSON on standard output and by
//! the artifact in a file that the parent made. The parent believes nothing of it that it can check.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use hotcell_core::ids::Digest;
use serde::{Deserialize, Serialize};

use crate::compile::CompileLimits;
use crate::error::LoadError;

/// The argument that makes a program a compile worker; it stands third from the end.
pub(crate) const MARK: &str = "--hotcell-compile-worker";

/// Bytes of an answer; more is garbage.
pub(crate) const MAX_REPLY_BYTES: usize = 16 << 10;

/// What one compile process has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// Where the artifact goes; the file exists already.
    pub(crate) artifact: PathBuf,
    /// The limits the process sets on itself.
    pub(crate) bounds: Bounds,
}

/// [`CompileLimits`] as they travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds {
    pub(crate) component_bytes: u64,
    pub(crate) artifact_bytes: u64,
    pub(crate) address_space_bytes: u64,
    pub(crate) cpu_seconds: u64,
}

impl From<&CompileLimits> for Bounds {
    fn from(limits: &CompileLimits) -> Self {
        Self {
            component_bytes: limits.component_bytes,
            artifact_bytes: limits.artifact_bytes,
            address_space_bytes: limits.address_space_bytes,
            cpu_seconds: limits.cpu_time.as_secs().max(1),
        }
    }
}

impl Order {
    /// The order as the last arguments of a command line.
    pub(crate) fn to_arguments(&self) -> Result<[OsString; 3], serde_json::Error> {
        let bounds = serde_json::to_string(&self.bounds)?;
        Ok([MARK.into(), self.artifact.clone().into(), bounds.into()])
    }

    /// Reads the order from a command line; none when it has no mark at the right place.
    pub(crate) fn find(arguments: &[OsString]) -> Option<Result<Self, String>> {
        let (_, [mark, artifact, bounds]) = arguments.split_last_chunk::<3>()?;
        if mark != OsStr::new(MARK) {
            return None;
        }
        let bounds = bounds.to_str().ok_or_else(|| "the limits are not text".to_owned());
        Some(bounds.and_then(|bounds| {
            let bounds =
                serde_json::from_str(bounds).map_err(|error| format!("the limits are wrong: {error}"))?;
            Ok(Self { artifact: artifact.into(), bounds })
        }))
    }
}

/// What the compiling process answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The artifact is in its file.
    Done {
        /// Its length.
        bytes: u64,
        /// Its digest.
        digest: Digest,
        /// The engine it is for.
        engine: String,
    },
    /// The component was refused.
    Refused {
        /// Why.
        reason: LoadError,
    },
    /// A limit was met that the process could report itself.
    Limited {
        /// Which.
        reason: String,
    },
    /// Something else went wrong.
    Failed {
        /// What.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_found_only_with_its_mark_third_from_the_end() {
        let order = Order { artifact: "/x/artifact".into(), bounds: Bounds::from(&CompileLimits::default()) };
        let mut arguments: Vec<OsString> = vec!["program".into(), "extra".into()];
        arguments.extend(order.to_arguments().unwrap());
        assert_eq!(Order::find(&arguments), Some(Ok(order)));
        arguments.push("one more".into());
        assert_eq!(Order::find(&arguments), None);
        assert_eq!(Order::find(&["program".into()]), None);
        let wrong = ["program", MARK, "/x", "{\"cpu\": 1}"].map(OsString::from);
        assert!(matches!(Order::find(&wrong), Some(Err(_))));
    }

    #[test]
    fn replies_round_trip() {
        let replies = [
            Reply::Done { bytes: 3, digest: Digest::of(b"abc"), engine: "wasmtime-0".into() },
            Reply::Refused { reason: LoadError::UnsupportedImport { names: vec!["a:b/c@1.0.0".into()] } },
            Reply::Refused { reason: LoadError::Empty },
            Reply::Failed { reason: "because".into() },
        ];
        for reply in replies {
            let text = serde_json::to_string(&reply).unwrap();
            assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), reply);
        }
    }
}

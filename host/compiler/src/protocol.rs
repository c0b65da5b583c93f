//! What the compiling process is told, and what it answers.
//!
//! Told by its arguments and by the file that is its standard input: the component, whose place the artifact takes.
//! Answered by one line of JSON on standard output. The parent believes nothing of it that it can check.

use std::ffi::{OsStr, OsString};

use hotcell_core::ids::Digest;
use hotcell_core::policy::Isolation;
use serde::{Deserialize, Serialize};

use crate::compile::CompileLimits;
use crate::error::LoadError;
use crate::walls::Walls;

/// The argument that makes a program a compile worker; it stands second from the end.
pub(crate) const MARK: &str = "--hotcell-compile-worker";

/// Bytes of an answer; more is garbage.
pub(crate) const MAX_REPLY_BYTES: usize = 16 << 10;

/// What one compile process has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// What happens when a wall cannot be raised.
    pub(crate) isolation: Isolation,
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
    pub(crate) fn to_arguments(&self) -> Result<[OsString; 2], serde_json::Error> {
        Ok([MARK.into(), serde_json::to_string(self)?.into()])
    }

    /// Reads the order from a command line; none when it has no mark at the right place.
    pub(crate) fn find(arguments: &[OsString]) -> Option<Result<Self, String>> {
        let (_, [mark, order]) = arguments.split_last_chunk::<2>()?;
        if mark != OsStr::new(MARK) {
            return None;
        }
        let order = order.to_str().ok_or_else(|| "the order is not text".to_owned());
        Some(order.and_then(|order| {
            serde_json::from_str(order).map_err(|error| format!("the order is wrong: {error}"))
        }))
    }
}

/// What the compiling process answers, and behind which walls it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// None when it ended before it raised them.
    pub(crate) walls: Option<Walls>,
    pub(crate) reply: Reply,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The artifact is in the file.
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
    /// Nothing was compiled, because a wall is missing and all are required.
    Unwalled,
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
    fn an_order_is_found_only_with_its_mark_second_from_the_end() {
        let bounds = Bounds::from(&CompileLimits::default());
        let order = Order { isolation: Isolation::Required, bounds };
        let mut arguments: Vec<OsString> = vec!["program".into(), "extra".into()];
        arguments.extend(order.to_arguments().unwrap());
        assert_eq!(Order::find(&arguments), Some(Ok(order)));
        arguments.push("one more".into());
        assert_eq!(Order::find(&arguments), None);
        assert_eq!(Order::find(&["program".into()]), None);
        let wrong = ["program", MARK, "{\"bounds\": 1}"].map(OsString::from);
        assert!(matches!(Order::find(&wrong), Some(Err(_))));
    }

    #[test]
    fn replies_round_trip() {
        let replies = [
            Reply::Done { bytes: 3, digest: Digest::of(b"abc"), engine: "wasmtime-0".into() },
            Reply::Refused { reason: LoadError::UnsupportedImport { names: vec!["a:b/c@1.0.0".into()] } },
            Reply::Refused { reason: LoadError::Empty },
            Reply::Failed { reason: "because".into() },
            Reply::Unwalled,
        ];
        for reply in replies {
            let answer = Answer { walls: Some(Walls::default()), reply };
            let text = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer);
        }
    }
}

//! Security advisories of the engine that were known when this version was made.
//!
//! The list is data beside this file, in our own words. It ends where our knowledge ended: that none of them applies
//! does not say that there is no newer one.

use serde::{Deserialize, Serialize};

/// The month up to which advisories were looked at.
pub const ADVISORIES_UNTIL: &str = "2026-09";

/// The version of the engine that is built in; a test holds it against the lock file.
pub const ENGINE_VERSION: &str = "48.0.8";

/// One advisory of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advisory {
    /// The public identifier.
    pub id: String,
    /// The month it was published, `YYYY-MM`.
    pub date: String,
    /// What goes wrong.
    pub title: String,
    /// The first fixed version of each line that was fixed; lines above the last one have the fix from the start.
    pub fixed_in: Vec<String>,
    /// Whether the part that is affected is used here at all.
    pub concerns: bool,
    /// Why it does not concern us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Advisory {
    /// Whether this version of the engine has the fault. A version that cannot be read counts as affected.
    #[must_use]
    pub fn affects(&self, engine: &str) -> bool {
        let Some(engine) = version(engine) else { return true };
        let fixes: Vec<_> = self.fixed_in.iter().filter_map(|fix| version(fix)).collect();
        match fixes.iter().find(|fix| fix[0] == engine[0]) {
            Some(fix) => engine < *fix,
            None => fixes.iter().max().is_none_or(|last| engine < *last),
        }
    }
}

/// Every advisory that is known here, the oldest first.
///
/// # Panics
/// Never: a test reads the list.
#[must_use]
pub fn advisories() -> Vec<Advisory> {
    serde_json::from_str(include_str!("advisories.json"))
        .expect("the list is part of the program, and a test reads it")
}

fn version(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let version = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The version of the engine in the lock file.
    fn built_in() -> String {
        let lock = include_str!("../../../Cargo.lock");
        let after = lock.split("name = \"wasmtime\"\nversion = \"").nth(1).unwrap();
        after.split('"').next().unwrap().to_owned()
    }

    #[test]
    fn the_engine_that_is_built_in_is_affected_by_none_of_them() {
        let engine = built_in();
        assert_eq!(engine, ENGINE_VERSION);
        let affected: Vec<_> = advisories()
            .into_iter()
            .filter(|advisory| advisory.affects(&engine))
            .map(|advisory| advisory.id)
            .collect();
        assert!(affected.is_empty(), "wasmtime {engine} is affected by {affected:?}; update it");
    }

    #[test]
    fn the_list_is_whole_and_says_why_something_does_not_concern_us() {
        let all = advisories();
        let ids: BTreeSet<_> = all.iter().map(|advisory| &advisory.id).collect();
        assert_eq!(ids.len(), all.len(), "each once");
        for advisory in &all {
            assert!(advisory.date.as_str() <= ADVISORIES_UNTIL, "{advisory:?}");
            assert!(advisory.concerns || advisory.why.is_some(), "{advisory:?}");
            assert!(!advisory.fixed_in.is_empty(), "{advisory:?}");
            assert!(advisory.fixed_in.iter().all(|fix| version(fix).is_some()), "{advisory:?}");
        }
    }

    #[test]
    fn versions_are_compared_within_their_line() {
        let advisory = &advisories()[8];
        assert_eq!(advisory.fixed_in, ["36.0.7", "42.0.2", "43.0.1"]);
        for (engine, affected) in [
            ("36.0.6", true),
            ("36.0.7", false),
            ("40.0.0", true),
            ("42.0.10", false),
            ("43.0.0", true),
            ("44.0.0", false),
            ("48.0.8", false),
            ("not a version", true),
        ] {
            assert_eq!(advisory.affects(engine), affected, "{engine}");
        }
    }
}

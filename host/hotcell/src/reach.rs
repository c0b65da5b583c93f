//! What a component could reach, held against what it is given.

use hotcell_compiler::Inspection;
use hotcell_compiler::inspect::Capability;
use hotcell_core::grant::Grants;
use serde::Serialize;

/// Something the component can ask for and is not given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingGrant {
    /// What it could reach with it.
    pub capability: Capability,
    /// How it fares without, in plain words.
    pub without: &'static str,
    /// How to give it; none when this version cannot.
    pub grant: Option<&'static str>,
}

/// Something the component is given and never asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnusedGrant {
    /// What it would reach with it.
    pub capability: Capability,
    /// Why it is never used, in plain words.
    pub because: &'static str,
}

/// What the component imports and nothing is granted for.
///
/// Toolchains import more than a tool uses, so a missing grant is not a fault: many tools need none.
#[must_use]
pub fn missing_grants(inspection: &Inspection, grants: &Grants) -> Vec<MissingGrant> {
    let files = MissingGrant {
        capability: Capability::Files,
        without: "without a directory it sees no file",
        grant: Some("files=HOST:GUEST[:ro|rw]"),
    };
    let variables = MissingGrant {
        capability: Capability::Environment,
        without: "without a variable it sees an empty environment",
        grant: Some("env=NAME=VALUE"),
    };
    let network = MissingGrant {
        capability: Capability::Network,
        without: "without HTTP, which this version cannot grant, its requests go nowhere",
        grant: None,
    };
    [(files, grants.files.is_empty()), (variables, grants.env.is_empty()), (network, true)]
        .into_iter()
        .filter(|(missing, absent)| *absent && can(inspection, missing.capability))
        .map(|(missing, _)| missing)
        .collect()
}

/// What is granted and the component never imports.
#[must_use]
pub fn unused_grants(inspection: &Inspection, grants: &Grants) -> Vec<UnusedGrant> {
    let files = UnusedGrant {
        capability: Capability::Files,
        because: "it does not import the list of its directories, so no directory is ever used",
    };
    let variables = UnusedGrant {
        capability: Capability::Environment,
        because: "it does not import its environment, so no variable is ever read",
    };
    [(files, !grants.files.is_empty()), (variables, !grants.env.is_empty())]
        .into_iter()
        .filter(|(unused, given)| *given && !can(inspection, unused.capability))
        .map(|(unused, _)| unused)
        .collect()
}

fn can(inspection: &Inspection, capability: Capability) -> bool {
    inspection.ceilings.iter().any(|ceiling| ceiling.capability == capability && ceiling.possible)
}

//! What a component asks for, and which of it exists here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::quote;

/// How an imported package stands with this version of hotcell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Always there and empty unless something is granted; every component brings it.
    Baseline,
    /// There, and refuses everything.
    Closed,
    /// A service of the host.
    Service,
    /// Known, and not available in this version.
    NotYet,
    /// Not known.
    Unknown,
}

/// The interfaces a component imports of one package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportGroup {
    /// The package, such as `wasi:io`; for an import that is no interface, its name.
    pub package: String,
    /// The version, when one is named.
    pub version: Option<String>,
    /// The interfaces, sorted; empty for an import that is no interface.
    pub interfaces: Vec<String>,
    /// How it stands.
    pub standing: Standing,
}

impl ImportGroup {
    /// Whether an interface of this package is imported.
    #[must_use]
    pub fn has(&self, package: &str, interface: &str) -> bool {
        self.package == package && self.interfaces.iter().any(|name| name == interface)
    }

    /// The interfaces in full, such as `wasi:io/streams@0.2.6`.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let version = self.version.as_ref().map_or_else(String::new, |version| format!("@{version}"));
        if self.interfaces.is_empty() {
            return vec![format!("{}{version}", self.package)];
        }
        self.interfaces.iter().map(|name| format!("{}/{name}{version}", self.package)).collect()
    }
}

/// One import as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) name: String,
    pub(super) is_instance: bool,
}

/// The known interfaces, by package: the versions served, and how they stand.
const KNOWN: [(&str, &str, Standing, &[&str]); 11] = [
    (
        "wasi:cli",
        "0.2.",
        Standing::Baseline,
        &[
            "environment",
            "exit",
            "stderr",
            "stdin",
            "stdout",
            "terminal-input",
            "terminal-output",
            "terminal-stderr",
            "terminal-stdin",
            "terminal-stdout",
        ],
    ),
    ("wasi:clocks", "0.2.", Standing::Baseline, &["monotonic-clock", "wall-clock"]),
    ("wasi:filesystem", "0.2.", Standing::Baseline, &["preopens", "types"]),
    ("wasi:io", "0.2.", Standing::Baseline, &["error", "poll", "streams"]),
    ("wasi:random", "0.2.", Standing::Baseline, &["insecure", "insecure-seed", "random"]),
    (
        "wasi:sockets",
        "0.2.",
        Standing::Closed,
        &[
            "instance-network",
            "ip-name-lookup",
            "network",
            "tcp",
            "tcp-create-socket",
            "udp",
            "udp-create-socket",
        ],
    ),
    ("wasi:http", "0.2.", Standing::NotYet, &["outgoing-handler", "types"]),
    ("hotcell:types", "0.1.", Standing::Service, &["types"]),
    ("hotcell:log", "0.1.", Standing::Service, &["log"]),
    ("hotcell:progress", "0.1.", Standing::Service, &["progress"]),
    ("hotcell:control", "0.1.", Standing::Service, &["control"]),
];

/// The imports by package, version and standing, in the order of their names.
pub(super) fn group(imports: &[Import]) -> Vec<ImportGroup> {
    let mut groups: BTreeMap<(String, Option<String>, Standing), Vec<String>> = BTreeMap::new();
    for import in imports {
        match interface(import) {
            Some((package, name, version)) => {
                let key = (package.to_owned(), version.map(str::to_owned), standing(package, name, version));
                groups.entry(key).or_default().push(name.to_owned());
            }
            None => {
                groups.entry((import.name.clone(), None, Standing::Unknown)).or_default();
            }
        }
    }
    groups
        .into_iter()
        .map(|((package, version, standing), mut interfaces)| {
            interfaces.sort_unstable();
            ImportGroup { package: quote(&package), version, interfaces, standing }
        })
        .collect()
}

/// The imports that this version does not offer, in full.
pub(super) fn unknown(groups: &[ImportGroup]) -> Vec<String> {
    let lacking = |group: &&ImportGroup| match group.standing {
        Standing::Baseline | Standing::Closed | Standing::Service => false,
        Standing::NotYet | Standing::Unknown => true,
    };
    groups.iter().filter(lacking).flat_map(ImportGroup::names).map(|name| quote(&name)).collect()
}

/// Package, interface and version of `package:name/interface@version`.
fn interface(import: &Import) -> Option<(&str, &str, Option<&str>)> {
    let (path, version) = match import.name.split_once('@') {
        Some((path, version)) => (path, Some(version)),
        None => (import.name.as_str(), None),
    };
    let (package, name) = path.split_once('/')?;
    (import.is_instance && package.contains(':')).then_some((package, name, version))
}

fn standing(package: &str, name: &str, version: Option<&str>) -> Standing {
    KNOWN
        .iter()
        .find(|(known, served, _, interfaces)| {
            *known == package
                && interfaces.contains(&name)
                && version.is_some_and(|version| version.starts_with(served))
        })
        .map_or(Standing::Unknown, |(_, _, standing, _)| *standing)
}

//! What a component could do at most, in plain words.
//!
//! A ceiling follows from what is imported and from nothing the author says. The standing imports
//! every toolchain brings give no reach by themselves, and the words say so.

use serde::{Deserialize, Serialize};

use super::imports::{ImportGroup, Standing};

/// Something a component may be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capability {
    /// Talking to other machines.
    Network,
    /// Reading and writing files.
    Files,
    /// Reading environment variables.
    Environment,
    /// Reading clocks.
    Clock,
    /// Getting random numbers.
    Random,
    /// Writing to standard output and error.
    Output,
    /// Writing log records.
    Log,
    /// Reporting progress.
    Progress,
    /// What cannot be told.
    Unknown,
}

/// The most a component can do with one capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Which.
    pub capability: Capability,
    /// Whether it can use it at all, given everything it could be granted.
    pub possible: bool,
    /// In plain words, to follow "the component".
    pub text: String,
}

/// The ceilings of a component with these imports.
pub(super) fn of(imports: &[ImportGroup]) -> Vec<Ceiling> {
    let has = |package: &str, interface: &str| imports.iter().any(|group| group.has(package, interface));
    let either = |capability, possible: bool, yes: &str, no: &str| Ceiling {
        capability,
        possible,
        text: if possible { yes } else { no }.to_owned(),
    };
    let sockets = imports.iter().any(|group| group.standing == Standing::Closed);
    let no_network = if sockets {
        "cannot reach the network: its sockets are closed and refuse every address"
    } else {
        "cannot reach the network"
    };
    let mut ceilings = vec![
        either(
            Capability::Network,
            imports.iter().any(|group| group.standing == Standing::NotYet),
            "asks for HTTP, which this version cannot grant",
            no_network,
        ),
        either(
            Capability::Files,
            has("wasi:filesystem", "preopens"),
            "reads and writes only the files it is given",
            "cannot reach files",
        ),
        either(
            Capability::Environment,
            has("wasi:cli", "environment"),
            "sees only the environment variables it is given",
            "cannot see environment variables",
        ),
        either(
            Capability::Clock,
            has("wasi:clocks", "monotonic-clock") || has("wasi:clocks", "wall-clock"),
            "can read clocks",
            "cannot read clocks",
        ),
        either(
            Capability::Random,
            imports.iter().any(|group| group.package == "wasi:random"),
            "can get random numbers",
            "cannot get random numbers",
        ),
    ];
    let only_if = [
        (
            Capability::Output,
            has("wasi:cli", "stdout") || has("wasi:cli", "stderr"),
            "can write output, which is captured and capped",
        ),
        (Capability::Log, has("hotcell:log", "log"), "can write log records, which are capped"),
        (Capability::Progress, has("hotcell:progress", "progress"), "can report progress"),
        (
            Capability::Unknown,
            imports.iter().any(|group| group.standing == Standing::Unknown),
            "asks for interfaces that are not known here, so nothing can be said about them",
        ),
    ];
    let used = only_if.into_iter().filter(|(_, used, _)| *used);
    ceilings.extend(used.map(|(capability, possible, text)| Ceiling {
        capability,
        possible,
        text: text.to_owned(),
    }));
    ceilings
}

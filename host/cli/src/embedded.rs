//! The example components inside of this binary, when it was built with them.

/// Name and bytes of each.
#[cfg(feature = "embedded-tools")]
const COMPONENTS: &[(&str, &[u8])] = &[
    ("csv-query", include_bytes!(concat!(env!("HOTCELL_TOOLS_DIR"), "/csv-query.wasm"))),
    ("misbehave", include_bytes!(concat!(env!("HOTCELL_TOOLS_DIR"), "/misbehave.wasm"))),
    ("notes", include_bytes!(concat!(env!("HOTCELL_TOOLS_DIR"), "/notes.wasm"))),
    ("text-stats", include_bytes!(concat!(env!("HOTCELL_TOOLS_DIR"), "/text-stats.wasm"))),
];

#[cfg(not(feature = "embedded-tools"))]
const COMPONENTS: &[(&str, &[u8])] = &[];

/// The component of this name.
pub(crate) fn find(name: &str) -> Option<(&'static str, &'static [u8])> {
    COMPONENTS.iter().find(|(known, _)| *known == name).copied()
}

/// The names of all.
pub(crate) fn names() -> Vec<&'static str> {
    COMPONENTS.iter().map(|(name, _)| *name).collect()
}

//! Every bound on what a component may be made of, in one table.
//!
//! Each limit is several times what the largest real components have: an interpreter of Python with its library
//! (19 MB, 25 modules linked together), an engine for JavaScript (13 MB), large programs in Rust. What is below a limit
//! and still too much is stopped by the limits of the compile process.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each has one row in the table below, which says what it counts and why")]
pub enum Counted {
    Sections,
    CustomSections,
    Nesting,
    Components,
    Modules,
    Instances,
    UnfoldedInstances,
    Comparisons,
    Types,
    TypeBytes,
    TypeDepth,
    Functions,
    FunctionBytes,
    FunctionLocals,
    AllLocals,
    Crossings,
    CoreImports,
    CoreExports,
    Imports,
    Exports,
    TopImports,
    TopExports,
    NameBytes,
    AllNameBytes,
    Memories,
    MemoryBytes,
    Tables,
    TableElements,
    Globals,
    Tags,
    DataSegments,
    ElementSegments,
    SegmentElements,
    Aliases,
    CanonicalFunctions,
}

/// A limit, what it is a limit of, and the attack it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// What is counted.
    pub counted: Counted,
    /// The most that is allowed.
    pub limit: u64,
    /// The unit, to follow the number.
    pub unit: &'static str,
    /// What a component that has more would do.
    pub stops: &'static str,
}

/// The bounds, in the order of [`Counted`]. Where nothing else is said, a number is over the whole file: nested components
/// and all modules together.
pub const BOUNDS: [Bound; 35] = [
    row(Counted::Sections, 100_000, "sections", "32 MiB of empty sections, each handled on its own"),
    row(Counted::CustomSections, 2_000, "custom sections", "reading names and claims of tools without end"),
    row(
        Counted::Nesting,
        32,
        "levels of components and modules",
        "a stack of parsers and of scopes as deep as the file",
    ),
    row(Counted::Components, 1_000, "components", "a scope for every ten bytes"),
    row(Counted::Modules, 500, "core modules", "a compilation unit for every ten bytes"),
    row(Counted::Instances, 5_000, "instances", "comparing each with its type, quadratic in the file"),
    row(
        Counted::UnfoldedInstances,
        20_000,
        "instances when nested components are unfolded",
        "ten levels that each instantiate the next ten times: the compiler unfolds them all",
    ),
    row(
        Counted::Comparisons,
        50_000_000,
        "bytes of types and imports to compare at instantiation",
        "900 instances whose 30,000 imports are compared one by one: 0.6 MB that take the reader 8 s",
    ),
    row(Counted::Types, 100_000, "types", "type tables, which the engine keeps for all components together"),
    row(
        Counted::TypeBytes,
        2 << 20,
        "bytes of types",
        "types with hundreds of fields each: 15 MB of them take the reader 330 MB",
    ),
    row(
        Counted::TypeDepth,
        64,
        "levels of types",
        "readers of types that call themselves and use up the stack",
    ),
    row(
        Counted::Functions,
        300_000,
        "functions",
        "one-line functions: 900,000 take 49 s and 5 GB to compile",
    ),
    row(
        Counted::FunctionBytes,
        7_340_032,
        "bytes in one function",
        "one body that takes the compiler minutes",
    ),
    row(
        Counted::FunctionLocals,
        50_000,
        "locals in one function",
        "six bytes that declare four billion variables",
    ),
    row(
        Counted::AllLocals,
        10_000_000,
        "locals",
        "many functions that each declare 50,000 variables in six bytes",
    ),
    row(
        Counted::Crossings,
        20_000_000,
        "values that cross branches in one function",
        "20,000 branches over 2,000 variables: 0.35 MB for which the compiler asks for 3.3 GB",
    ),
    row(Counted::CoreImports, 50_000, "imports of core modules", "names that are resolved one by one"),
    row(
        Counted::CoreExports,
        100_000,
        "exports of core modules",
        "names that are kept as long as the component is",
    ),
    row(Counted::Imports, 10_000, "imports of all components", "types that are compared at each import"),
    row(Counted::Exports, 10_000, "exports of all components", "types that are copied at each export"),
    row(Counted::TopImports, 1_000, "imports", "a list for the operator that nobody can read"),
    row(Counted::TopExports, 1_000, "exports", "one function offered under thousands of names"),
    row(Counted::NameBytes, 16_384, "bytes in one name", "names of 100 kB, each copied by every step"),
    row(Counted::AllNameBytes, 8 << 20, "bytes in all names", "the same with many names"),
    row(Counted::Memories, 200, "memories", "a reservation of addresses for each"),
    row(Counted::MemoryBytes, 8 << 30, "bytes of memory at the start", "memory nobody can grant"),
    row(Counted::Tables, 200, "tables", "a slot for each, and a lookup by number"),
    row(
        Counted::TableElements,
        10_000_000,
        "table elements at the start",
        "tables that are filled before any call",
    ),
    row(Counted::Globals, 100_000, "globals", "initial values that are computed one by one"),
    row(Counted::Tags, 100, "tags", "kinds of exceptions, which are switched off"),
    row(Counted::DataSegments, 20_000, "data segments", "a compiler panic above 32,767, and a copy for each"),
    row(Counted::ElementSegments, 20_000, "element segments", "a copy for each at every instantiation"),
    row(Counted::SegmentElements, 1_000_000, "elements in segments", "the same in few large segments"),
    row(Counted::Aliases, 50_000, "aliases", "chains of names for one thing"),
    row(Counted::CanonicalFunctions, 20_000, "canonical functions", "an adapter that is compiled for each"),
];

const fn row(counted: Counted, limit: u64, unit: &'static str, stops: &'static str) -> Bound {
    Bound { counted, limit, unit, stops }
}

impl Counted {
    /// Its bound.
    #[must_use]
    pub const fn bound(self) -> Bound {
        BOUNDS[self as usize]
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.bound().unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_stands_at_its_place_and_says_what_it_is_for() {
        for (place, bound) in BOUNDS.iter().enumerate() {
            assert_eq!(bound.counted as usize, place, "{bound:?}");
            assert_eq!(bound.counted.bound(), *bound);
            assert!(bound.limit > 0 && bound.unit.len() > 3 && bound.stops.len() > 10, "{bound:?}");
        }
    }
}

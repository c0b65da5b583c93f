//! Where dependencies live: heavy ones have one home, and what a room is built on is named in its manifest.

use crate::arrows::Crate;
use crate::tokens::{Source, matches_at};

/// One dependency and its place.
#[derive(Debug)]
pub struct Home {
    /// The name of the package.
    pub name: &'static str,
    /// Crates of ours that depend on it directly and use it in their sources.
    pub serves: &'static [&'static str],
    /// All crates of ours that may depend on it directly; `None` means any.
    pub homes: Option<&'static [&'static str]>,
}

/// The places; the benches compare with bare wasmtime and with the loop of rig, so they are a home too.
pub const HOMES: [Home; 14] = [
    Home {
        name: "wasmtime",
        serves: &["hotcell-compiler", "hotcell-sandbox"],
        homes: Some(&["hotcell-compiler", "hotcell-sandbox", "hotcell-benches"]),
    },
    Home {
        name: "wasmtime-wasi",
        serves: &["hotcell-sandbox"],
        homes: Some(&["hotcell-sandbox", "hotcell-benches"]),
    },
    Home { name: "tokio", serves: &["hotcell-agent", "hotcell-sandbox"], homes: None },
    Home { name: "serde_json", serves: &["hotcell-core"], homes: None },
    Home { name: "jsonschema", serves: &["hotcell-agent"], homes: Some(&["hotcell-agent", "hotcell-tests"]) },
    Home {
        name: "reqwest",
        serves: &["hotcell-providers"],
        homes: Some(&["hotcell-providers", "hotcell-registry"]),
    },
    Home { name: "rig-core", serves: &["hotcell-providers"], homes: Some(&["hotcell-providers"]) },
    Home { name: "rig-agent", serves: &[], homes: Some(&["hotcell-benches"]) },
    Home { name: "cap-std", serves: &["hotcell-sandbox"], homes: Some(&["hotcell-sandbox"]) },
    Home { name: "landlock", serves: &["hotcell-compiler"], homes: Some(&["hotcell-compiler"]) },
    Home { name: "seccompiler", serves: &["hotcell-compiler"], homes: Some(&["hotcell-compiler"]) },
    Home { name: "anyhow", serves: &["hotcell-cli"], homes: None },
    Home { name: "clap", serves: &["hotcell-cli"], homes: Some(&["hotcell-cli"]) },
    Home { name: "criterion", serves: &[], homes: Some(&["hotcell-benches"]) },
];

/// Dependencies that come with later rooms; until then nobody may have them.
pub const LATER: [Home; 3] = [
    Home { name: "sqlx", serves: &[], homes: Some(&["hotcell-store"]) },
    Home { name: "axum", serves: &[], homes: Some(&["hotcell-server", "hotcell-mcp"]) },
    Home { name: "rmcp", serves: &[], homes: Some(&["hotcell-mcp"]) },
];

/// Dependencies that live outside of their homes.
#[must_use]
pub fn strays(crates: &[Crate], homes: &[Home]) -> Vec<String> {
    let mut found = Vec::new();
    for home in homes {
        let Some(allowed) = home.homes else { continue };
        for package in crates.iter().filter(|package| !allowed.contains(&package.name.as_str())) {
            if package.dependencies.iter().any(|dependency| dependency.name == home.name) {
                found.push(format!(
                    "{}/Cargo.toml: `{}` lives in {}; ask that room instead of depending on it here",
                    package.folder,
                    home.name,
                    allowed.join(", ")
                ));
            }
        }
    }
    found
}

/// Rooms without a direct dependency on what they are built on, or that do not use it.
#[must_use]
pub fn unserved(crates: &[Crate], homes: &[Home], sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for home in homes {
        for room in home.serves {
            let Some(package) = crates.iter().find(|package| package.name == *room) else {
                found.push(format!("the crate `{room}`, which `{}` serves, does not exist", home.name));
                continue;
            };
            let direct = |kind: &str| {
                package.dependencies.iter().any(|found| found.name == home.name && found.kind == kind)
            };
            if !direct("normal") {
                found.push(format!(
                    "{}/Cargo.toml: expected a direct dependency on `{}`",
                    package.folder, home.name
                ));
            }
            let folder = format!("{}/src/", package.folder);
            if !sources.iter().any(|source| source.path.starts_with(&folder) && uses(source, home.name)) {
                found.push(format!("{folder}: expected code that uses `{}`, found none", home.name));
            }
        }
    }
    found
}

/// Whether code that ships names the crate as the start of a path or imports it.
fn uses(source: &Source, package: &str) -> bool {
    let name = package.replace('-', "_");
    let tokens = source.shipped();
    (0..tokens.len()).any(|at| {
        let starts_path = at == 0 || !tokens.get(at - 1).is_some_and(|token| token.is_sign(':'));
        starts_path
            && (matches_at(&tokens, at, &[&name, ":", ":"]) || matches_at(&tokens, at, &["use", &name]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows::Dependency;

    const WASM: [Home; 1] = [Home { name: "wasm-time", serves: &["a"], homes: Some(&["a"]) }];

    fn package(name: &str, dependency: &str, kind: &'static str) -> Crate {
        let dependency = Dependency { name: dependency.to_owned(), kind, local: false };
        Crate { name: name.to_owned(), folder: format!("host/{name}"), dependencies: vec![dependency] }
    }

    fn source(text: &str) -> [Source; 1] {
        [Source::parse("host/a/src/lib.rs", text).unwrap()]
    }

    #[test]
    fn a_heavy_dependency_outside_of_its_home_is_found_whatever_its_kind() {
        for kind in ["normal", "dev", "build"] {
            let found = strays(&[package("a", "wasm-time", kind), package("b", "wasm-time", kind)], &WASM);
            assert_eq!(
                found,
                ["host/b/Cargo.toml: `wasm-time` lives in a; ask that room instead of depending on it here"]
            );
        }
        assert_eq!(strays(&[package("b", "wasm-time-lite", "normal")], &WASM), [] as [String; 0]);
    }

    #[test]
    fn a_room_must_depend_directly_on_what_serves_it_and_use_it() {
        let good = [package("a", "wasm-time", "normal")];
        assert_eq!(unserved(&good, &WASM, &source("use wasm_time::Engine;")), [] as [String; 0]);
        assert_eq!(unserved(&good, &WASM, &source("fn f() { wasm_time::run() }")), [] as [String; 0]);

        let unused = unserved(
            &good,
            &WASM,
            &source("// wasm_time::run()\nfn wasm_time() { other::wasm_time::run() }"),
        );
        assert_eq!(unused, ["host/a/src/: expected code that uses `wasm-time`, found none"]);
        let in_tests = unserved(&good, &WASM, &source("#[cfg(test)] mod tests { use wasm_time::Engine; }"));
        assert_eq!(in_tests.len(), 1, "{in_tests:?}");

        for bad in [package("a", "wasm-time", "dev"), package("a", "other", "normal")] {
            let found = unserved(&[bad], &WASM, &source("use wasm_time::Engine;"));
            assert_eq!(found, ["host/a/Cargo.toml: expected a direct dependency on `wasm-time`"]);
        }
        let found = unserved(&[], &WASM, &[]);
        assert_eq!(found, ["the crate `a`, which `wasm-time` serves, does not exist"]);
    }
}

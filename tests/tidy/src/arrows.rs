//! Which crate of the workspace may depend on which.
//!
//! The list is complete: an arrow that is not in it is refused, whatever its kind.
//! Dev-dependencies count, because a room whose tests need another room is not a room of its own.
//! A new arrow is a design change and needs a decision note first.

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use crate::repository::Repository;

/// A crate and the crates of ours it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crate {
    /// The name of the package.
    pub name: String,
    /// The folder of its manifest, from the root of the checkout.
    pub folder: String,
    /// Direct dependencies of every kind and target, with the kind.
    pub dependencies: Vec<Dependency>,
}

/// One direct dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The name of the package.
    pub name: String,
    /// `normal`, `dev` or `build`.
    pub kind: &'static str,
    /// Whether it lies in this checkout.
    pub local: bool,
}

const CORE: &str = "hotcell-core";

/// All of the host but the cli.
const ROOMS: [&str; 10] = [
    CORE,
    "hotcell-agent",
    "hotcell-providers",
    "hotcell-compiler",
    "hotcell-sandbox",
    "hotcell-registry",
    "hotcell-store",
    "hotcell-server",
    "hotcell-mcp",
    "hotcell",
];

/// What the tests and benches may have besides.
const OUTER: [&str; 3] = ["hotcell-cli", "hotcell-tool", "hotcell-tool-macros"];

/// What a crate may depend on; none when the crate has no place in the house.
fn allowed(package: &Crate) -> Option<Vec<&'static str>> {
    let guests = package.folder.starts_with("example-tools/") || package.folder.starts_with("tests/guests/");
    let arrows = match package.name.as_str() {
        _ if guests => vec!["hotcell-tool"],
        "hotcell-core" | "hotcell-tidy" | "xtask" => vec![],
        "hotcell-agent" | "hotcell-providers" | "hotcell-compiler" | "hotcell-sandbox"
        | "hotcell-registry" | "hotcell-store" => vec![CORE],
        "hotcell-server" | "hotcell-mcp" => vec![CORE, "hotcell-agent"],
        "hotcell" => ROOMS.into_iter().filter(|room| *room != "hotcell").collect(),
        "hotcell-cli" => vec!["hotcell"],
        "hotcell-tool" => vec!["hotcell-tool-macros"],
        // The two are one room; the tests of the macros need the crate whose names they write out.
        "hotcell-tool-macros" => vec!["hotcell-tool"],
        "hotcell-tests" => ROOMS.into_iter().chain(OUTER).collect(),
        // They share the support library of the tests.
        "hotcell-benches" => ROOMS.into_iter().chain(OUTER).chain(["hotcell-tests"]).collect(),
        _ => return None,
    };
    Some(arrows)
}

/// The arrows that are not in the list, one line each.
#[must_use]
pub fn violations(crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    for package in crates {
        let Some(allowed) = allowed(package) else {
            found.push(format!(
                "{}/Cargo.toml: the crate `{}` has no place in the list of arrows; \
                 write a decision note, then add it to tests/tidy/src/arrows.rs",
                package.folder, package.name
            ));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.local) {
            if !allowed.contains(&dependency.name.as_str()) {
                found.push(wrong_arrow(package, dependency, &allowed));
            }
        }
    }
    found
}

fn wrong_arrow(package: &Crate, dependency: &Dependency, allowed: &[&str]) -> String {
    let allowed = if allowed.is_empty() { "no crate of ours".to_owned() } else { allowed.join(", ") };
    format!(
        "{}/Cargo.toml: `{}` may depend on {allowed}, found a {} dependency on `{}`",
        package.folder, package.name, dependency.kind, dependency.name
    )
}

/// Reads the crates of the workspace and of the workspaces of guests from their manifests.
///
/// # Errors
/// Cargo cannot read a manifest.
pub fn crates(repository: &Repository) -> Result<Vec<Crate>> {
    let mut crates = Vec::new();
    for manifest in workspaces(repository)? {
        let metadata = MetadataCommand::new()
            .manifest_path(repository.root().join(&manifest))
            .no_deps()
            .exec()
            .with_context(|| format!("cargo cannot read {manifest}"))?;
        for package in metadata.packages {
            let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
            let folder = folder.as_std_path().strip_prefix(repository.root()).unwrap_or(folder.as_std_path());
            crates.push(Crate {
                folder: folder.display().to_string(),
                dependencies: package.dependencies.iter().map(dependency).collect(),
                name: package.name.to_string(),
            });
        }
    }
    crates.sort_by(|a, b| a.folder.cmp(&b.folder));
    crates.dedup();
    Ok(crates)
}

/// The manifests that cover all packages: the root, and those of guests that start a workspace of their own.
fn workspaces(repository: &Repository) -> Result<Vec<String>> {
    let mut manifests = vec!["Cargo.toml".to_owned()];
    for folder in ["example-tools", "tests/guests"] {
        for manifest in repository.below(folder, "/Cargo.toml") {
            let table: toml::Table =
                repository.text(manifest)?.parse().with_context(|| format!("{manifest} is not TOML"))?;
            if table.contains_key("workspace") {
                manifests.push(manifest.to_owned());
            }
        }
    }
    Ok(manifests)
}

fn dependency(dependency: &cargo_metadata::Dependency) -> Dependency {
    let kind = match dependency.kind {
        cargo_metadata::DependencyKind::Development => "dev",
        cargo_metadata::DependencyKind::Build => "build",
        _ => "normal",
    };
    Dependency { name: dependency.name.clone(), kind, local: dependency.path.is_some() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[(&str, &'static str)]) -> Crate {
        let dependencies = dependencies
            .iter()
            .map(|(name, kind)| Dependency { name: (*name).to_owned(), kind, local: true })
            .collect();
        Crate { name: name.to_owned(), folder: folder.to_owned(), dependencies }
    }

    fn check(package: Crate, expected: &[&str]) {
        assert_eq!(violations(&[package]), expected);
    }

    #[test]
    fn a_listed_arrow_is_accepted() {
        check(package("hotcell-agent", "host/agent", &[("hotcell-core", "normal")]), &[]);
        check(
            package("hotcell", "host/hotcell", &[("hotcell-sandbox", "normal"), ("hotcell-mcp", "normal")]),
            &[],
        );
        check(package("notes", "example-tools/notes", &[("hotcell-tool", "normal")]), &[]);
        check(
            package("hotcell-tests", "tests", &[("hotcell-cli", "normal"), ("hotcell-sandbox", "dev")]),
            &[],
        );
    }

    #[test]
    fn a_wrong_arrow_is_refused_with_the_manifest_and_what_is_allowed() {
        check(
            package(
                "hotcell-agent",
                "host/agent",
                &[("hotcell-core", "normal"), ("hotcell-sandbox", "normal")],
            ),
            &["host/agent/Cargo.toml: `hotcell-agent` may depend on hotcell-core, \
               found a normal dependency on `hotcell-sandbox`"],
        );
        check(
            package("hotcell-core", "host/core", &[("hotcell-agent", "build")]),
            &["host/core/Cargo.toml: `hotcell-core` may depend on no crate of ours, \
               found a build dependency on `hotcell-agent`"],
        );
        check(
            package("csv-query", "example-tools/csv-query", &[("hotcell-core", "normal")]),
            &["example-tools/csv-query/Cargo.toml: `csv-query` may depend on hotcell-tool, \
               found a normal dependency on `hotcell-core`"],
        );
    }

    #[test]
    fn a_dev_dependency_on_another_room_is_refused_too() {
        check(
            package("hotcell-sandbox", "host/sandbox", &[("hotcell-compiler", "dev")]),
            &["host/sandbox/Cargo.toml: `hotcell-sandbox` may depend on hotcell-core, \
               found a dev dependency on `hotcell-compiler`"],
        );
    }

    #[test]
    fn a_crate_that_nobody_placed_is_refused() {
        let found = violations(&[package("hotcell-extras", "host/extras", &[])]);
        assert_eq!(found.len(), 1);
        assert!(found.concat().contains("`hotcell-extras` has no place"), "{found:?}");
    }

    #[test]
    fn the_crates_are_read_from_the_manifests() {
        let crates = crates(&Repository::here().unwrap()).unwrap();
        let agent = crates.iter().find(|package| package.name == "hotcell-agent").unwrap();
        assert_eq!(agent.folder, "host/agent");
        let core = agent.dependencies.iter().find(|dependency| dependency.name == CORE).unwrap();
        assert!(core.local);
        assert!(agent.dependencies.iter().any(|dependency| dependency.name == "tokio" && !dependency.local));
    }
}

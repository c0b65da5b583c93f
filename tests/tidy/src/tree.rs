//! What a crate pulls in, asked of cargo: the loop alone must stay light.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::repository::Repository;

/// What the facade without its default features must not have in its tree: engines, HTTP, databases, OCI.
/// A name stands for itself and for all packages that start with it and a dash.
pub const HEAVY: [&str; 12] = [
    "wasmtime",
    "cranelift",
    "reqwest",
    "hyper",
    "axum",
    "sqlx",
    "rusqlite",
    "rmcp",
    "rig",
    "rustls",
    "oci",
    "sigstore",
];

/// The names of all packages that `package` is built from, itself included.
///
/// # Errors
/// Cargo cannot be run or does not know the package.
#[expect(clippy::disallowed_methods, reason = "cargo says through a variable which cargo runs the tests")]
pub fn packages(repository: &Repository, package: &str, features: &[&str]) -> Result<BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let mut command = Command::new(cargo);
    command.args(["tree", "--locked", "--package", package, "--edges", "normal,build", "--prefix", "none"]);
    let output = command
        .args(["--format", "{p}"])
        .args(features)
        .current_dir(repository.root())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("`cargo tree -p {package}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8(output.stdout).context("the tree is not UTF-8")?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

/// The packages of a tree that are too heavy.
#[must_use]
pub fn heavy(tree: &BTreeSet<String>) -> Vec<&str> {
    let is_heavy = |name: &str| {
        HEAVY.iter().any(|heavy| {
            name.strip_prefix(heavy).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    tree.iter().map(String::as_str).filter(|name| is_heavy(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heavy_package_is_found_by_its_name_and_the_start_of_it() {
        let tree = ["serde", "wasmtime", "wasmtime-internal-core", "rigid", "oci-client", "hyperfine"];
        let tree = tree.into_iter().map(str::to_owned).collect();
        assert_eq!(heavy(&tree), ["oci-client", "wasmtime", "wasmtime-internal-core"]);
    }

    #[test]
    fn a_tree_lists_the_package_and_what_it_is_built_from() {
        let repository = Repository::here().unwrap();
        let tree = packages(&repository, "hotcell-tidy", &[]).unwrap();
        assert!(tree.contains("hotcell-tidy") && tree.contains("proc-macro2"), "{tree:?}");
        let message = packages(&repository, "no-such-package", &[]).unwrap_err().to_string();
        assert!(message.contains("no-such-package"), "{message}");
    }
}

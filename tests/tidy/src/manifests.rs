//! What every manifest must say: the lints of the workspace, and versions in one place.

use anyhow::{Context, Result};

/// Dependencies with a version of their own: manifest, name, reason.
const OWN_VERSIONS: [(&str, &str, &str); 1] = [(
    "guest-sdk/Cargo.toml",
    "serde_json",
    "a feature of the host brings randomly seeded maps into guests, and inheriting cannot drop a feature",
)];

/// The tables of a manifest that name dependencies.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// What is wrong with the manifest of a package, one line each; a manifest without a package has no violations.
///
/// # Errors
/// The text is not TOML.
pub fn violations(path: &str, text: &str) -> Result<Vec<String>> {
    let table: toml::Table = text.parse().with_context(|| format!("{path} is not TOML"))?;
    let mut found = Vec::new();
    if !table.contains_key("package") {
        return Ok(found);
    }
    let lints = table.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
    if lints != Some(true) {
        found.push(format!("{path}: expected `[lints]` with `workspace = true`"));
    }
    let targets = table.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flatten().filter_map(|(_, target)| target.as_table());
    for table in std::iter::once(&table).chain(targets) {
        for kind in DEPENDENCIES {
            let dependencies = table.get(kind).and_then(toml::Value::as_table).into_iter().flatten();
            let own =
                dependencies.filter(|(name, dependency)| !is_shared(dependency) && !has_reason(path, name));
            found.extend(own.map(|(name, _)| {
                format!("{path}: `{name}` needs `workspace = true`, with its version in the root manifest, or a path")
            }));
        }
    }
    Ok(found)
}

fn has_reason(path: &str, name: &str) -> bool {
    OWN_VERSIONS.iter().any(|(manifest, dependency, _)| *manifest == path && *dependency == name)
}

fn is_shared(dependency: &toml::Value) -> bool {
    dependency.get("workspace").and_then(toml::Value::as_bool) == Some(true)
        || dependency.get("path").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let text = format!("package.name = \"x\"\n{text}");
        assert_eq!(violations("x/Cargo.toml", &text).unwrap(), expected, "{text}");
    }

    #[test]
    fn a_package_without_the_lints_of_the_workspace_is_found() {
        let expected = "x/Cargo.toml: expected `[lints]` with `workspace = true`";
        check("[lints]\nworkspace = true", &[]);
        check("lints.workspace = true", &[]);
        check("", &[expected]);
        check("[lints]\nworkspace = false", &[expected]);
        check("[lints.clippy]\nall = \"allow\"", &[expected]);
    }

    #[test]
    fn a_version_outside_of_the_root_manifest_is_found_in_every_table() {
        let lints = "[lints]\nworkspace = true\n";
        let wrong =
            "x/Cargo.toml: `y` needs `workspace = true`, with its version in the root manifest, or a path";
        for table in
            ["dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"]
        {
            check(&format!("{lints}[{table}]\ny = \"1\""), &[wrong]);
            check(&format!("{lints}[{table}]\ny = {{ git = \"https://example.com\" }}"), &[wrong]);
            check(&format!("{lints}[{table}]\ny.workspace = true\nz = {{ path = \"../z\" }}"), &[]);
        }
    }

    #[test]
    fn a_manifest_without_a_package_has_nothing_to_say() {
        assert_eq!(violations("Cargo.toml", "[workspace]").unwrap(), [] as [String; 0]);
        assert!(violations("Cargo.toml", "[").is_err());
    }
}

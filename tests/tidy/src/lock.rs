//! What a lock file must not hold: old engines, unknown sources, a second TLS.

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;

/// The only place dependencies come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Earlier versions of the engine lack fixes that the threat model counts on.
const OLDEST_ENGINE: Version = Version::new(48, 0, 8);

/// Packages we do not build with: TLS is rustls.
const REFUSED: [&str; 4] = ["openssl", "openssl-sys", "native-tls", "boring"];

/// What is wrong with a lock file, one line each.
///
/// # Errors
/// The text is not a lock file.
pub fn violations(path: &str, text: &str) -> Result<Vec<String>> {
    let table: toml::Table = text.parse().with_context(|| format!("{path} is not TOML"))?;
    let packages = table.get("package").and_then(toml::Value::as_array);
    let packages = packages.with_context(|| format!("{path} has no packages"))?;
    let mut found = Vec::new();
    for package in packages {
        let field = |name: &str| package.get(name).and_then(toml::Value::as_str);
        let name = field("name").with_context(|| format!("{path}: a package has no name"))?;
        let version = field("version").with_context(|| format!("{path}: `{name}` has no version"))?;
        let version = Version::parse(version).with_context(|| format!("{path}: the version of `{name}`"))?;
        found.extend(
            wrong(name, &version, field("source")).map(|what| format!("{path}: `{name}` {version} {what}")),
        );
    }
    Ok(found)
}

fn wrong(name: &str, version: &Version, source: Option<&str>) -> Option<String> {
    if let Some(source) = source.filter(|source| *source != REGISTRY) {
        return Some(format!("comes from {source}, expected the default registry"));
    }
    if REFUSED.contains(&name) {
        return Some("is refused: TLS is rustls".to_owned());
    }
    let engine = name == "wasmtime" || name.starts_with("wasmtime-");
    (engine && *version < OLDEST_ENGINE).then(|| format!("is older than {OLDEST_ENGINE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(package: &str, expected: &[&str]) {
        let text =
            format!("version = 4\n[[package]]\nname = \"good\"\nversion = \"1.0.0\"\n[[package]]\n{package}");
        assert_eq!(violations("Cargo.lock", &text).unwrap(), expected, "{package}");
    }

    #[test]
    fn an_engine_older_than_the_threat_model_counts_on_is_found() {
        check("name = \"wasmtime\"\nversion = \"48.0.8\"", &[]);
        check("name = \"wasmtime\"\nversion = \"49.1.0\"", &[]);
        check(
            "name = \"wasmtime\"\nversion = \"48.0.7\"",
            &["Cargo.lock: `wasmtime` 48.0.7 is older than 48.0.8"],
        );
        check(
            "name = \"wasmtime-wasi\"\nversion = \"9.0.0\"",
            &["Cargo.lock: `wasmtime-wasi` 9.0.0 is older than 48.0.8"],
        );
    }

    #[test]
    fn a_package_from_elsewhere_is_found() {
        check(&format!("name = \"x\"\nversion = \"1.0.0\"\nsource = \"{REGISTRY}\""), &[]);
        check(
            "name = \"x\"\nversion = \"1.0.0\"\nsource = \"git+https://example.com/x#1\"",
            &["Cargo.lock: `x` 1.0.0 comes from git+https://example.com/x#1, expected the default registry"],
        );
    }

    #[test]
    fn a_second_tls_is_found() {
        check(
            "name = \"openssl-sys\"\nversion = \"0.9.1\"",
            &["Cargo.lock: `openssl-sys` 0.9.1 is refused: TLS is rustls"],
        );
    }

    #[test]
    fn a_text_that_is_no_lock_file_is_refused() {
        assert!(violations("Cargo.lock", "").is_err());
        assert!(violations("Cargo.lock", "[[package]]\nversion = \"1.0.0\"").is_err());
        assert!(violations("Cargo.lock", "[[package]]\nname = \"x\"\nversion = \"one\"").is_err());
    }
}

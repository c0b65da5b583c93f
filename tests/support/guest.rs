//! What `cargo xtask tools` built: the example tools, the guests of the tests, and the binary.

use std::path::{Path, PathBuf};

/// The folder of a kind of built files: named by the environment, else at its place in the target folder.
fn place(variable: &str, in_target: &str) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "the test runner says where it built things")]
    let given = std::env::var_os(variable);
    given.map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(in_target),
        PathBuf::from,
    )
}

/// The path of an example tool or of a guest of the tests.
///
/// # Panics
/// When it was not built; the message says how to.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    let file = format!("{name}.wasm");
    let places = [place("HOTCELL_TOOLS_DIR", "tools"), place("HOTCELL_GUESTS_DIR", "tools/tests")];
    let found = places.iter().map(|folder| folder.join(&file)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{file} is in none of {places:?}; run `cargo xtask tools` first"))
}

/// The bytes of one of them.
///
/// # Panics
/// When it was not built or cannot be read.
#[must_use]
pub fn bytes(name: &str) -> Vec<u8> {
    let path = path(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}

/// The target folder guests are built in; their dependencies are compiled there already.
#[must_use]
pub fn target() -> PathBuf {
    place("HOTCELL_TOOLS_DIR", "tools").join("../guests")
}

/// The binary `hotcell`.
///
/// # Panics
/// When it was not built; the message says how to.
#[must_use]
pub fn binary() -> PathBuf {
    let path = place("HOTCELL_BIN", "debug/hotcell");
    assert!(path.exists(), "{} does not exist; run `cargo xtask tools` first", path.display());
    path
}

/// The binary `hotcell` with the example tools inside.
///
/// # Panics
/// When it was not built; the message says how to.
#[must_use]
pub fn demo_binary() -> PathBuf {
    let path = place("HOTCELL_DEMO_BIN", "hotcell-demo/hotcell");
    assert!(path.exists(), "{} does not exist; run `cargo xtask test` or `demo` first", path.display());
    path
}

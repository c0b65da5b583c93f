//! Cargo commands that all see the same features and the same folders.

use std::path::PathBuf;
use std::process::Command;

use crate::layout::Layout;

/// Selects the `hotcell` binary with the features that `cargo test --workspace` selects.
///
/// `-p hotcell-cli` alone would switch on fewer features of shared dependencies, and cargo would build
/// wasmtime a second time for the tests. `--workspace` brings in the features of every member; the test
/// target of this crate, which is tiny, brings in those of the dev-dependencies.
const HOST: [&str; 5] = ["--workspace", "--bin", "hotcell", "--test", "xtask_help"];

/// What a shell or CI may set for the host but must not reach a guest: flags given this way replace the
/// flags of the wasm target instead of adding to them, and wrappers and targets are meant for the host.
const NOT_FOR_GUESTS: [&str; 7] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_TARGET",
];

/// A cargo command for the host, in the root of the checkout.
pub(crate) fn host(layout: &Layout, subcommand: &str) -> Command {
    let mut command = Command::new(variable("CARGO").unwrap_or_else(|| PathBuf::from("cargo")));
    command.arg(subcommand).current_dir(&layout.root).env("CARGO_TARGET_DIR", &layout.target);
    // A target triple given from outside would move the binaries to another folder.
    command.env_remove("CARGO_BUILD_TARGET");
    forget_own_package(&mut command);
    command
}

/// The command that builds the `hotcell` binary.
pub(crate) fn build_host(layout: &Layout) -> Command {
    let mut command = host(layout, "build");
    command.args(HOST);
    command
}

/// A cargo command for a workspace of guests, built natively.
pub(crate) fn guests(layout: &Layout, subcommand: &str, workspace: &std::path::Path) -> Command {
    let mut command = host(layout, subcommand);
    command.current_dir(workspace);
    for_guests(&mut command, layout);
    command
}

/// A cargo command for the fuzz targets. Flags from outside would replace those in the configuration of their folder.
pub(crate) fn fuzz(layout: &Layout, subcommand: &str) -> Command {
    let mut command = host(layout, subcommand);
    command.current_dir(layout.fuzz()).env("CARGO_TARGET_DIR", layout.fuzz_target());
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
}

/// Gives a command the environment that guests are built in.
pub(crate) fn for_guests(command: &mut Command, layout: &Layout) {
    command.env("CARGO_TARGET_DIR", layout.guest_target());
    for name in NOT_FOR_GUESTS {
        command.env_remove(name);
    }
    forget_own_package(command);
}

/// Tells tests and benches where the binaries and components are.
pub(crate) fn with_artifacts(command: &mut Command, layout: &Layout) {
    command
        .env("HOTCELL_BIN", layout.binary())
        .env("HOTCELL_DEMO_BIN", layout.demo_binary())
        .env("HOTCELL_TOOLS_DIR", layout.tools())
        .env("HOTCELL_GUESTS_DIR", layout.test_guests());
}

/// A variable of the environment, as a path; an empty one counts as absent.
#[expect(
    clippy::disallowed_methods,
    reason = "the project's own commands are started by cargo, which speaks through variables"
)]
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Removes what `cargo run` says about this package; a child would take it for its own.
fn forget_own_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn layout() -> Layout {
        Layout { root: PathBuf::from("/checkout"), target: PathBuf::from("/checkout/target") }
    }

    fn change<'a>(command: &'a Command, name: &str) -> Option<Option<&'a OsStr>> {
        command.get_envs().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    #[test]
    fn flags_meant_for_the_host_are_removed_for_guests_and_the_flags_of_the_wasm_target_stay() {
        let mut command = Command::new("hotcell");
        for_guests(&mut command, &layout());
        for name in NOT_FOR_GUESTS {
            assert_eq!(change(&command, name), Some(None), "{name} must be removed");
        }
        assert_eq!(change(&command, "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS"), None);
        assert_eq!(change(&command, "CARGO_TARGET_DIR"), Some(Some(OsStr::new("/checkout/target/guests"))));
    }

    #[test]
    fn guests_built_natively_do_not_share_the_target_folder_of_the_host() {
        let command = guests(&layout(), "test", std::path::Path::new("/checkout/example-tools"));
        assert_eq!(change(&command, "CARGO_TARGET_DIR"), Some(Some(OsStr::new("/checkout/target/guests"))));
        assert_eq!(command.get_current_dir(), Some(std::path::Path::new("/checkout/example-tools")));
    }

    #[test]
    fn what_cargo_says_about_this_package_does_not_reach_children() {
        let command = host(&layout(), "build");
        assert_eq!(change(&command, "CARGO_PKG_NAME"), Some(None), "cargo test sets it for this test");
        assert_eq!(change(&command, "CARGO_MANIFEST_DIR"), Some(None));
    }
}

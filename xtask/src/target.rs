//! Makes sure that Rust can compile for the wasm target.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::console::Console;
use crate::process;

/// The target of every guest.
const TARGET: &str = "wasm32-wasip2";

/// How long the download of the target's standard library (about 20 MB) may take.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(600);

/// Adds the target with rustup when it is missing.
///
/// # Errors
/// It is missing and cannot be added; the message says what to do.
pub(crate) fn ensure(console: &Console) -> Result<()> {
    let rustc = cargo::variable("RUSTC").unwrap_or_else(|| PathBuf::from("rustc"));
    let folder = process::output(Command::new(&rustc).args(["--print", "target-libdir", "--target", TARGET]))
        .context("cannot ask rustc where its libraries are")?;
    let folder = PathBuf::from(folder.trim());
    if has_std(&folder) || flags_name_a_library() {
        return Ok(());
    }
    let added = console.step(&format!("add the Rust target {TARGET}"), || {
        process::run_within(Command::new("rustup").args(["target", "add", TARGET]), DOWNLOAD_LIMIT)
    });
    let reason = match added {
        Ok(()) if has_std(&folder) => return Ok(()),
        Ok(()) => "rustup added it to another toolchain than the one cargo uses".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    let version =
        process::output(Command::new(&rustc).arg("--version")).unwrap_or_else(|_| "rustc".to_owned());
    bail!(missing(version.trim(), &folder, &reason))
}

/// Whether a folder holds a compiled standard library.
fn has_std(folder: &Path) -> bool {
    let Ok(entries) = folder.read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

/// Whether the user has pointed cargo at a standard library of their own for this target.
fn flags_name_a_library() -> bool {
    cargo::variable("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS")
        .is_some_and(|flags| flags.to_string_lossy().split_whitespace().any(|flag| flag.starts_with("-L")))
}

/// What to do when the target is missing and cannot be added.
fn missing(version: &str, folder: &Path, reason: &str) -> String {
    format!(
        "{version} has no standard library for {TARGET}, which the tools are compiled for\n  \
         looked in: {}\n  \
         tried: `rustup target add {TARGET}`: {reason}\n  \
         help: with rustup and a network, run that command again and then this one\n  \
         help: without rustup or where its download is refused, build that library once from Debian's \
         packages `rust-src` (of exactly this rustc version) and `wasi-libc`, and name its folder in \
         CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS=\"-L DIR/lib -L native=DIR/lib/self-contained\"; \
         docs/tool-authors.md lists the steps",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_about_a_missing_target_says_what_where_and_what_to_do() {
        let text =
            missing("rustc 1.95.0", Path::new("/toolchain/wasm32-wasip2/lib"), "cannot start `rustup`");
        for part in [
            "rustc 1.95.0 has no standard library for wasm32-wasip2",
            "/toolchain/wasm32-wasip2/lib",
            "cannot start `rustup`",
            "rustup target add wasm32-wasip2",
            "rust-src",
            "wasi-libc",
            "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS",
            "docs/tool-authors.md",
        ] {
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }
    }

    #[test]
    fn a_folder_without_a_standard_library_counts_as_missing() {
        assert!(!has_std(Path::new("/nowhere")));
        let folder = std::env::temp_dir().join(format!("xtask-target-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libcore-1.rlib"), "").unwrap();
        assert!(!has_std(&folder));
        std::fs::write(folder.join("libstd-1.rlib"), "").unwrap();
        assert!(has_std(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

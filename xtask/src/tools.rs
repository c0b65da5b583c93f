//! `cargo xtask tools`: builds the host and the guest components.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::console::Console;
use crate::layout::{Guest, Layout};
use crate::process;
use crate::target;

/// Builds the `hotcell` binary and the named guests; no names means all.
///
/// # Errors
/// The wasm target is missing, a build fails, or a name has no guest.
pub(crate) fn run(layout: &Layout, console: &Console, names: &[String]) -> Result<ExitCode> {
    build(layout, console, &layout.guests_named(names)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the `hotcell` binary and these guests.
///
/// # Errors
/// The wasm target is missing, or a build fails.
pub(crate) fn build(layout: &Layout, console: &Console, guests: &[Guest]) -> Result<()> {
    target::ensure(console)?;
    host(layout, console)?;
    for guest in guests {
        console.step(&format!("build component {}", guest.name), || component(layout, guest))?;
    }
    console.progress(&format!("{} components are in {}", guests.len(), layout.tools().display()));
    Ok(())
}

/// Builds the `hotcell` binary without embedded components.
///
/// # Errors
/// The build fails, or cargo puts the binary elsewhere.
pub(crate) fn host(layout: &Layout, console: &Console) -> Result<()> {
    console.step("build hotcell", || process::run(&mut cargo::build_host(layout)))?;
    require_binary(layout)
}

/// Builds the `hotcell` binary with the components embedded; only the cli is compiled again.
///
/// # Errors
/// The build fails, or cargo puts the binary elsewhere.
pub(crate) fn host_with_components(layout: &Layout, console: &Console) -> Result<()> {
    console.step("build hotcell with the components inside", || {
        let mut command = cargo::build_host(layout);
        command.args(["--features", "hotcell-cli/embedded-tools"]);
        command.env("HOTCELL_TOOLS_DIR", layout.tools());
        process::run(&mut command)
    })?;
    require_binary(layout)
}

fn component(layout: &Layout, guest: &Guest) -> Result<()> {
    if let Some(folder) = guest.output.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let mut command = Command::new(layout.binary());
    command.args(["tool", "build"]).arg(&guest.folder).arg("--out").arg(&guest.output);
    command.current_dir(&layout.root);
    cargo::for_guests(&mut command, layout);
    process::run(&mut command)?;
    if !guest.output.is_file() {
        bail!(
            "expected the component at {}, found nothing although the build succeeded",
            guest.output.display()
        );
    }
    Ok(())
}

fn require_binary(layout: &Layout) -> Result<()> {
    let binary = layout.binary();
    if binary.is_file() {
        return Ok(());
    }
    bail!(
        "expected the binary at {}, found nothing although the build succeeded\n  \
         help: a cargo configuration outside of the checkout sets `build.target` or a profile folder; \
         run with CARGO_HOME set to a folder without it",
        binary.display()
    )
}

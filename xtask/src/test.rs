//! `cargo xtask test`: everything that CI checks.

mod report;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::arguments::{Scope, TestOptions};
use crate::cargo;
use crate::console::Console;
use crate::fuzz;
use crate::layout::Layout;
use crate::process;
use crate::tools;

use report::Report;

/// The crates that build without wasmtime, for the daily loop.
const LIGHT: [&str; 6] =
    ["hotcell-core", "hotcell-agent", "hotcell-tool", "hotcell-tool-macros", "hotcell-tidy", "xtask"];

/// Runs the checks and prints a table and the sum.
///
/// A failed step does not stop the ones that can run without it.
///
/// # Errors
/// A folder of guests cannot be read.
pub(crate) fn run(layout: &Layout, console: &Console, options: &TestOptions) -> Result<ExitCode> {
    let workspaces = layout.guest_workspaces()?;
    let mut report = Report::new(console);
    // With a filter somebody waits for one test; the formatting of the rest is not the question.
    if options.filters.is_empty() {
        for workspace in [&layout.root, &layout.fuzz()].into_iter().chain(&workspaces) {
            report.check(&named("format", layout, workspace), || format(layout, workspace));
        }
        report.check("clippy", || clippy(layout, options.scope));
    }
    match options.scope {
        Scope::Light => light(layout, options, &mut report),
        Scope::Everything => {
            for workspace in workspaces.iter().filter(|_| options.filters.is_empty()) {
                report.check(&named("clippy", layout, workspace), || clippy_guests(layout, workspace));
            }
            everything(layout, console, options, &mut report);
            if options.filters.is_empty() {
                report.check("fuzz", || fuzz::run(layout, console, &[], fuzz::SECONDS).map(drop));
            }
            for workspace in &workspaces {
                let name = named("tests", layout, workspace);
                report.tests(&name, || {
                    let mut command = cargo::guests(layout, "test", workspace);
                    command.args(["--workspace", "--no-fail-fast"]);
                    harness_arguments(&mut command, options);
                    command
                });
            }
        }
    }
    Ok(report.finish())
}

fn light(layout: &Layout, options: &TestOptions, report: &mut Report<'_>) {
    report.tests("tests", || {
        let mut command = cargo::host(layout, "test");
        command.args(light_packages()).arg("--no-fail-fast");
        harness_arguments(&mut command, options);
        command
    });
}

/// The tests of the workspace; they need the binaries and the components.
fn everything(layout: &Layout, console: &Console, options: &TestOptions, report: &mut Report<'_>) {
    if !report.check("components", || artifacts(layout, console)) {
        report.skipped("tests", "the components could not be built");
        return;
    }
    // Compiling first keeps a compile error apart from a failed test, and the times too.
    let built = report
        .check("build tests", || process::run(cargo::host(layout, "test").args(["--workspace", "--no-run"])));
    if !built {
        report.skipped("tests", "they do not compile");
        return;
    }
    report.tests("tests", || {
        let mut command = cargo::host(layout, "test");
        command.args(["--workspace", "--no-fail-fast"]);
        harness_arguments(&mut command, options);
        cargo::with_artifacts(&mut command, layout);
        command
    });
}

/// Builds the components and both binaries: a copy with the components inside, and the plain one in its place.
fn artifacts(layout: &Layout, console: &Console) -> Result<()> {
    tools::build(layout, console, &layout.guests()?)?;
    tools::host_with_components(layout, console)?;
    let (from, to) = (layout.binary(), layout.demo_binary());
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    // A program that still runs cannot be written to, but its name can be given to a new file.
    if to.exists() {
        std::fs::remove_file(&to).with_context(|| format!("cannot replace {}", to.display()))?;
    }
    std::fs::copy(&from, &to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    tools::host(layout, console)
}

fn format(layout: &Layout, workspace: &Path) -> Result<()> {
    process::run(cargo::host(layout, "fmt").args(["--all", "--check"]).current_dir(workspace))
        .context("code is not formatted\n  help: run `cargo fmt --all` in the same folder")
}

fn clippy(layout: &Layout, scope: Scope) -> Result<()> {
    let mut command = cargo::host(layout, "clippy");
    match scope {
        Scope::Everything => command.arg("--workspace"),
        Scope::Light => command.args(light_packages()),
    };
    process::run(command.args(["--all-targets", "--", "-D", "warnings"]))
}

fn clippy_guests(layout: &Layout, workspace: &Path) -> Result<()> {
    let mut command = cargo::guests(layout, "clippy", workspace);
    process::run(command.args(["--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn light_packages() -> impl Iterator<Item = &'static str> {
    LIGHT.into_iter().flat_map(|name| ["-p", name])
}

fn harness_arguments(command: &mut Command, options: &TestOptions) {
    command.arg("--").args(&options.filters).args(&options.harness);
}

/// The name of a step, with the folder it works in unless that is the root.
fn named(step: &str, layout: &Layout, workspace: &Path) -> String {
    match workspace.strip_prefix(&layout.root) {
        Ok(folder) if folder.as_os_str().is_empty() => step.to_owned(),
        Ok(folder) => format!("{step} {}", folder.display()),
        Err(_) => format!("{step} {}", workspace.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn steps_outside_the_root_workspace_are_named_with_their_folder() {
        let layout = Layout { root: PathBuf::from("/checkout"), target: PathBuf::from("/checkout/target") };
        assert_eq!(named("format", &layout, Path::new("/checkout")), "format");
        assert_eq!(named("tests", &layout, Path::new("/checkout/tests/guests")), "tests tests/guests");
    }

    #[test]
    fn filters_and_arguments_reach_the_test_binaries() {
        let mut command = Command::new("cargo");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let options = TestOptions {
            filters: words("deadline fuel"),
            harness: words("--nocapture"),
            ..TestOptions::default()
        };
        harness_arguments(&mut command, &options);
        assert_eq!(process::shown(&command), "cargo -- deadline fuel --nocapture");
    }
}

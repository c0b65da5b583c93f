//! `cargo xtask bench`: runs the benches with the profile of the demo and the tests.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::cargo;
use crate::console::Console;
use crate::layout::Layout;
use crate::process;
use crate::tools;

/// Builds the components and runs the named benches; no names means all.
///
/// # Errors
/// A build fails, or a bench cannot be started.
pub(crate) fn run(layout: &Layout, console: &Console, names: &[String], args: &[String]) -> Result<ExitCode> {
    tools::build(layout, console, &layout.guests()?)?;
    let mut command = command(layout, names, args);
    console.progress(&format!("run `{}`", process::shown(&command)));
    Ok(ExitCode::from(process::exit_code(process::status(&mut command)?)))
}

/// The whole workspace is selected, so that the features are those of the tests and nothing is built twice.
fn command(layout: &Layout, names: &[String], args: &[String]) -> Command {
    let mut command = cargo::host(layout, "bench");
    command.args(["--profile", "dev", "--workspace"]);
    if names.is_empty() {
        command.args(["--bench", "*"]);
    }
    for name in names {
        command.args(["--bench", name]);
    }
    command.arg("--").args(args);
    cargo::with_artifacts(&mut command, layout);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn benches_use_the_one_profile_and_the_features_of_the_whole_workspace() {
        let layout = Layout { root: PathBuf::from("/checkout"), target: PathBuf::from("/checkout/target") };
        let all = process::shown(&command(&layout, &[], &[]));
        assert!(all.ends_with("cargo bench --profile dev --workspace --bench * --"), "{all}");
        let one = process::shown(&command(&layout, &["call".to_owned()], &["--json".to_owned()]));
        assert!(one.ends_with("cargo bench --profile dev --workspace --bench call -- --json"), "{one}");
    }
}

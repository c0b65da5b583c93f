//! `cargo xtask demo`: builds everything and runs `hotcell demo`.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::console::Console;
use crate::layout::Layout;
use crate::process;
use crate::tools;

/// Builds the components, embeds them and runs `hotcell demo` with `args`.
///
/// # Errors
/// A build fails, or the binary cannot be started; how the demo itself ends is the exit code.
pub(crate) fn run(layout: &Layout, console: &Console, args: &[String]) -> Result<ExitCode> {
    tools::build(layout, console, &layout.example_tools()?)?;
    tools::host_with_components(layout, console)?;
    let mut command = Command::new(layout.binary());
    command.arg("demo").args(args).current_dir(&layout.root);
    console.progress(&format!("run `{}`", process::shown(&command)));
    Ok(ExitCode::from(process::exit_code(process::status(&mut command)?)))
}

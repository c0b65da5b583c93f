//! The project's own commands, run as `cargo xtask COMMAND`; nothing has to be installed first.
//!
//! It builds in seconds because it depends on nothing of the host.
//! Start reading at [`arguments`] (what can be typed), then [`tools`] (how the
//! host and the guests are built) and [`test`] (what CI runs).

mod arguments;
mod bench;
mod cargo;
mod console;
mod demo;
mod fuzz;
mod help;
mod layout;
mod process;
mod tally;
mod target;
mod test;
mod tools;

use std::process::ExitCode;

use anyhow::Result;

use arguments::Command;
use console::Console;
use layout::Layout;

/// The exit code of wrong usage, as in the `hotcell` binary.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let console = Console::start();
    let command = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            console.error(&format!("{error:#}"));
            return ExitCode::from(WRONG_USAGE);
        }
    };
    match run(command, &console) {
        Ok(code) => code,
        Err(error) => {
            console.error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, console: &Console) -> Result<ExitCode> {
    if let Command::Help(topic) = command {
        console.print(help::text(topic));
        return Ok(ExitCode::SUCCESS);
    }
    let layout = Layout::find()?;
    match command {
        Command::Help(_) => Ok(ExitCode::SUCCESS),
        Command::Tools { names } => tools::run(&layout, console, &names),
        Command::Demo { args } => demo::run(&layout, console, &args),
        Command::Test(options) => test::run(&layout, console, &options),
        Command::Bench { names, args } => bench::run(&layout, console, &names, &args),
        Command::Fuzz { names, seconds } => fuzz::run(&layout, console, &names, seconds),
    }
}

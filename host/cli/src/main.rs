//! The command line of Hotcell: arguments, printing, asking. What is decided, is decided in the library.
//!
//! Start reading at `arguments.rs` (what can be typed), then `tool_call.rs` (the shortest command that does
//! everything: load, grant, call, report) and `ending.rs` (exit codes and errors).

mod approve;
mod arguments;
mod call_arguments;
mod call_lines;
mod clean;
mod component_source;
mod console;
mod demo;
mod doctor;
mod embedded;
mod ending;
mod interrupt;
mod load_lines;
mod model_choice;
mod policy_check;
mod policy_explain;
mod policy_init;
mod policy_option;
mod report;
mod run;
mod tool_build;
mod tool_call;
mod tool_compile;
mod tool_inspect;
mod tool_new;
mod world;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use crate::arguments::{Cli, Command, Policy, Tool};
use crate::ending::Exit;

fn main() -> ExitCode {
    // First of all, because a compile worker must limit itself before anything else happens.
    hotcell::worker_main();
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return show_usage(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return show_usage(&error),
    };
    let json = cli.command.json();
    match in_runtime(&cli, &matches) {
        Ok(exit) => exit.into(),
        Err(error) => console::complain(&error, json).into(),
    }
}

/// Help and version go to standard output and are fine; everything else is wrong usage.
fn show_usage(error: &clap::Error) -> ExitCode {
    match error.print() {
        // Nobody reads; the exit code says it as well.
        Ok(()) | Err(_) => {}
    }
    if !error.use_stderr() {
        return Exit::Done.into();
    }
    if wants_json(std::env::args_os()) {
        let text = error.to_string();
        console::print_error("usage", text.strip_prefix("error: ").unwrap_or(&text).trim_end(), None);
    }
    Exit::Usage.into()
}

/// Whether `--json` was typed, on a command line that could not be read any further.
fn wants_json(arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// One thread is enough for the command itself: guests run on threads of the sandbox.
fn in_runtime(cli: &Cli, matches: &ArgMatches) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(dispatch(&cli.command, matches));
    // A compilation that nobody waits for any more, or a question nobody answered, must not hold the process.
    runtime.shutdown_background();
    exit
}

async fn dispatch(command: &Command, matches: &ArgMatches) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(command) => demo::run(command).await,
        Command::Run(command) => {
            Box::pin(run::run(command, matches.subcommand_matches("run").unwrap_or(matches))).await
        }
        Command::Tool(Tool::New(command)) => tool_new::run(command),
        Command::Tool(Tool::Build(command)) => tool_build::run(command).await,
        Command::Tool(Tool::Inspect(command)) => tool_inspect::run(command),
        Command::Tool(Tool::Call(command)) => tool_call::run(command).await,
        Command::Tool(Tool::Compile(command)) => tool_compile::run(command).await,
        Command::Policy(Policy::Init(command)) => policy_init::run(command),
        Command::Policy(Policy::Check(command)) => policy_check::run(command),
        Command::Policy(Policy::Explain(command)) => policy_explain::run(command),
        Command::Policy(Policy::Schema) => {
            console::print(hotcell::policy::file::PolicyFile::schema()).map(|()| Exit::Done)
        }
        Command::Clean(command) => clean::run(command),
        Command::Doctor(command) => doctor::run(command).await,
    }
}

//! The command line as it is typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::Styles;
use clap::{Args, Parser, Subcommand};
use hotcell::policy::Bound;
use hotcell::units::{parse_bytes, parse_duration};
use hotcell::{CALL_MEMORY_BYTES, Grant, LONGEST_CALL, LimitOverrides, parse_grant};

/// Agents whose tools nobody has to trust: each tool is a WebAssembly component that gets a fresh instance, a
/// budget that preempts, and only what you grant.
#[derive(Debug, Parser)]
#[command(name = "hotcell", version, styles = Styles::plain(), max_term_width = 100, after_help = "Examples:
  hotcell demo                                      the whole story in seconds, offline
  hotcell tool new hello                            start a tool of your own
  hotcell tool inspect notes.wasm                   what a component could ever reach
  hotcell tool call notes.wasm list --grant files=./notes:/notes:ro
  hotcell run \"What changed?\" --tool notes.wasm --policy policy.toml")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Solve a task and survive attacks, offline, with the components inside of this binary.
    Demo(Demo),
    /// Run an agent on a prompt.
    Run(Run),
    /// Write, build, inspect, compile and call tools.
    #[command(subcommand)]
    Tool(Tool),
    /// Work with policy files.
    #[command(subcommand)]
    Policy(Policy),
    /// Remove results of earlier runs that were kept on disk because they were too large for the model.
    Clean(Clean),
    /// Check that everything works here, and say what protection is missing.
    Doctor(Doctor),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hotcell demo
  hotcell demo --csv my.csv
  hotcell demo --attack evil.wasm
  hotcell demo --model openai/gpt-4.1 --json")]
pub(crate) struct Demo {
    /// Also call each tool of this component as an attack, with `{}` as arguments.
    #[arg(long, value_name = "FILE")]
    pub(crate) attack: Option<PathBuf>,
    /// Ask the question about this CSV file instead of the one inside of this binary; same columns.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Let a real model work on the task, such as `openai/gpt-4.1`, or another script, `script:FILE`.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print one JSON object at the end instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A grant in front of the first --tool is for all tools, one behind a --tool for that tool.
Without --tool, every component of the policy that has a `source` is used.

Examples:
  hotcell run \"Summarise my notes\" --tool notes.wasm --grant files=./notes:/notes:ro
  hotcell run - --tool csv-query.wasm --policy policy.toml < prompt.txt
  hotcell run \"Which notes are old?\" --tool notes.wasm --model script:replies.jsonl --json"
)]
pub(crate) struct Run {
    /// What to ask; `-` reads it from standard input.
    pub(crate) prompt: String,
    /// A component whose tools the agent may use; repeatable.
    #[arg(long = "tool", value_name = "FILE")]
    pub(crate) tools: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: PolicyOption,
    /// Give a component something: `files=HOST:GUEST[:ro|rw]` or `env=NAME=VALUE`; repeatable.
    #[arg(long = "grant", value_name = "SPEC", value_parser = parse_grant)]
    pub(crate) grants: Vec<Grant>,
    /// The model, `openai/NAME` or `script:FILE`; else HOTCELL_MODEL, else the policy's `run.model`.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What the model is told before everything else.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// An image, PDF or recording that goes with the prompt; repeatable; stronger than the policy's `run.attach`.
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Begin from the strict limits: 20 replies, 100 tool calls, long results are cut.
    #[arg(long)]
    pub(crate) strict: bool,
    /// A file with the JSON Schema the answer has to fit; stronger than the policy's `run.output_schema`.
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// Most replies of the model, or `unlimited`; stronger than the policy's `run.max_turns`.
    #[arg(long, value_name = "N", value_parser = parse_bound)]
    pub(crate) max_turns: Option<Bound>,
    /// Most tool calls, or `unlimited`; stronger than the policy's `run.max_tool_calls`.
    #[arg(long, value_name = "N", value_parser = parse_bound)]
    pub(crate) max_tool_calls: Option<Bound>,
    /// Longest time of the whole run, such as `5m`; stronger than the policy's `run.max_time`.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) max_time: Option<Duration>,
    /// Print the whole result as one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// Start a project for a tool in Rust.
    New(ToolNew),
    /// Compile a project to a component, check it and embed its definitions.
    Build(ToolBuild),
    /// Show what a component is and could ever reach, without running it.
    Inspect(ToolInspect),
    /// Call one tool of a component.
    Call(ToolCall),
    /// Compile components before they are needed.
    Compile(ToolCompile),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hotcell tool new word-count
  hotcell tool new word-count --path ~/src/word-count")]
pub(crate) struct ToolNew {
    /// The name of the project: small letters, digits, `-` and `_`.
    pub(crate) name: String,
    /// Where to put it; default is a folder of that name here.
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// The folder of the `hotcell-tool` crate to build against; default is the one this binary was built beside, else
    /// the published version.
    #[arg(long, value_name = "PATH")]
    pub(crate) sdk: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hotcell tool build
  hotcell tool build example-tools/notes --out notes.wasm")]
pub(crate) struct ToolBuild {
    /// The folder with the Cargo.toml; default is this one.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Where to write the component; default is NAME.wasm in the project's folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "With two files, shows how the second differs from the first: what it could reach in addition, and
which tools changed. Differences are no failure: the exit code is 0.

Examples:
  hotcell tool inspect notes.wasm
  hotcell tool inspect notes.wasm --policy policy.toml
  hotcell tool inspect notes-1.0.wasm notes-1.1.wasm
  hotcell tool inspect notes.wasm --json"
)]
pub(crate) struct ToolInspect {
    /// The component.
    pub(crate) file: PathBuf,
    /// A newer version of it, to be compared.
    #[arg(value_name = "NEW", conflicts_with = "policy_file")]
    pub(crate) newer: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: PolicyOption,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit code 0: outcome ok; 1: any other outcome; 2: wrong usage; 130: cancelled.

Examples:
  hotcell tool call text-stats.wasm count --args text='How many words?'
  hotcell tool call text-stats.wasm count --args '{\"text\": \"one two\"}' --json
  hotcell tool call notes.wasm read --args @arguments.json --grant files=./notes:/notes:ro
  hotcell tool call slow.wasm work --timeout 500ms --memory 16MiB --fuel 1_000_000")]
pub(crate) struct ToolCall {
    /// The component: a file, or the name of a component inside of this binary.
    pub(crate) file: PathBuf,
    /// The tool; may be left out when the component has only one.
    pub(crate) name: Option<String>,
    /// The arguments: a JSON object, `@FILE`, `-` for standard input, or `name=value` pairs. A value
    /// is text where the schema asks for text, else JSON.
    #[arg(long = "args", value_name = "ARGS", num_args = 1..)]
    pub(crate) args: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Give the component something: `files=HOST:GUEST[:ro|rw]` or `env=NAME=VALUE`; repeatable.
    #[arg(long = "grant", value_name = "SPEC", value_parser = parse_grant)]
    pub(crate) grants: Vec<Grant>,
    #[command(flatten)]
    pub(crate) policy: PolicyOption,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Nothing of a component runs. An artifact is for this version of hotcell and this kind of processor.
Exit code 0: all are compiled; 1: at least one failed, and the others are compiled.

Examples:
  hotcell tool compile notes.wasm csv-query.wasm
  hotcell tool compile tools/*.wasm --out artifacts
  hotcell tool compile notes.wasm --out artifacts --key artifacts.key --json"
)]
pub(crate) struct ToolCompile {
    /// The components.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A folder for the artifacts, private to you, for programs that compile nothing themselves; default is the cache.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// A file with the key of that folder, made when missing; default is a file in the folder.
    #[arg(long, value_name = "FILE", requires = "out")]
    pub(crate) key: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// Longest time of the call, such as `500ms` or `10s`.
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    timeout: Option<Duration>,
    /// Most memory of the call, such as `64MiB`; from 64KiB to 4GiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<u64>,
    /// Most fuel of the call, in units of the engine; `_` may stand between digits.
    #[arg(long, value_name = "N", value_parser = parse_fuel)]
    fuel: Option<u64>,
}

impl Limits {
    pub(crate) fn overrides(&self) -> LimitOverrides {
        LimitOverrides {
            timeout: self.timeout,
            memory_bytes: self.memory,
            fuel: self.fuel,
            ..LimitOverrides::default()
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct PolicyOption {
    /// The policy file; else HOTCELL_POLICY. It is never looked for in the working directory.
    #[arg(long = "policy", value_name = "FILE")]
    pub(crate) policy_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Write the smallest policy that lets components work.
    Init(PolicyInit),
    /// Check a policy file and the components it names.
    Check(PolicyCheck),
    /// Say why a call would run, ask or not run, and which line decides.
    Explain(PolicyExplain),
    /// Print the JSON Schema of policy files, for editors.
    #[command(after_help = "Examples:\n  hotcell policy schema > policy.schema.json")]
    Schema,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The policy names each component with its digest and its tools, and grants nothing: what the
component could use stands in comments, to be completed.

Examples:
  hotcell policy init notes.wasm
  hotcell policy init notes.wasm csv-query.wasm --out policy.toml"
)]
pub(crate) struct PolicyInit {
    /// The components.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where to write the policy; else it is printed. Paths inside of it start at its folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file when there is one.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "COMPONENT is the name of an entry, else a file. Nothing is run.

Examples:
  hotcell policy explain notes --policy policy.toml
  hotcell policy explain notes write --policy policy.toml
  hotcell policy explain notes.wasm write --grant files=./notes:/notes:rw --json")]
pub(crate) struct PolicyExplain {
    /// The component: the name of its policy entry, or its file.
    pub(crate) component: String,
    /// The tool; else all of them.
    pub(crate) tool: Option<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyOption,
    /// As if this were typed with `run` or `tool call`; repeatable.
    #[arg(long = "grant", value_name = "SPEC", value_parser = parse_grant)]
    pub(crate) grants: Vec<Grant>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 0: good, perhaps with notes; 1: there are problems; 2: the file cannot be read.

Examples:
  hotcell policy check policy.toml
  hotcell policy check policy.toml --json"
)]
pub(crate) struct PolicyCheck {
    /// The policy file.
    pub(crate) file: PathBuf,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit code 0: all that is required is there; 1: something that is required is not.

Examples:
  hotcell doctor
  hotcell doctor --policy policy.toml
  hotcell doctor --json")]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) policy: PolicyOption,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "What a run that is alive uses stays. Runs remove what is older than a week themselves.

Examples:
  hotcell clean
  hotcell clean --dry-run
  hotcell clean --older-than 24h --json"
)]
pub(crate) struct Clean {
    /// Remove only what was last written longer ago than this, such as `24h`.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) older_than: Option<Duration>,
    /// Say what would be removed, and remove nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Command {
    /// Whether results and errors are wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Demo(demo) => demo.json,
            Self::Run(run) => run.json,
            Self::Tool(Tool::New(_)) => false,
            Self::Tool(Tool::Build(build)) => build.json,
            Self::Tool(Tool::Inspect(inspect)) => inspect.json,
            Self::Tool(Tool::Call(call)) => call.json,
            Self::Tool(Tool::Compile(compile)) => compile.json,
            Self::Policy(Policy::Init(_) | Policy::Schema) => false,
            Self::Policy(Policy::Check(check)) => check.json,
            Self::Policy(Policy::Explain(explain)) => explain.json,
            Self::Clean(clean) => clean.json,
            Self::Doctor(doctor) => doctor.json,
        }
    }
}

fn parse_bound(text: &str) -> Result<Bound, String> {
    if text == "unlimited" {
        return Ok(Bound::Unlimited);
    }
    text.parse().map(Bound::AtMost).map_err(|_not_a_number: std::num::ParseIntError| {
        let help = if text == "0" { "; 0 is no bound here, write `unlimited` if that is meant" } else { "" };
        format!("expected a whole number from 1 to {}, or `unlimited`{help}", u32::MAX)
    })
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    let timeout = parse_duration(text).map_err(|error| error.to_string())?;
    if timeout > LONGEST_CALL {
        return Err(format!("`{text}` is longer than a call may take; at most 24h are allowed"));
    }
    Ok(timeout)
}

fn parse_memory(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|error| error.to_string())?;
    if !CALL_MEMORY_BYTES.contains(&bytes) {
        return Err(format!("`{text}` is out of range; a call can have 64KiB to 4GiB"));
    }
    Ok(bytes)
}

fn parse_fuel(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    match digits.parse::<u64>() {
        Ok(fuel) if fuel > 0 && i64::try_from(fuel).is_ok() && !text.starts_with(['+', '_']) => Ok(fuel),
        Ok(_) | Err(_) => {
            Err(format!("`{text}` is not a whole number from 1 to {}, such as `1_000_000`", i64::MAX))
        }
    }
}

#[cfg(test)]
mod tests;

//! What can be typed after `cargo xtask`.

use std::ffi::OsString;

use anyhow::{Result, anyhow, bail};

use crate::help::Topic;

/// One command with its checked arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Print a help text.
    Help(Topic),
    /// Build the host and the guests; no names means all guests.
    Tools { names: Vec<String> },
    /// Build everything with the components embedded and run `hotcell demo ARGS`.
    Demo { args: Vec<String> },
    /// Check everything.
    Test(TestOptions),
    /// Run benches; no names means all.
    Bench { names: Vec<String>, args: Vec<String> },
    /// Feed hostile bytes to fuzz targets for so many seconds each; no names means all.
    Fuzz { names: Vec<String>, seconds: u64 },
}

/// What `cargo xtask test` runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// How much is tested.
    pub(crate) scope: Scope,
    /// Only tests whose name contains one of these; empty means all.
    pub(crate) filters: Vec<String>,
    /// Arguments for the test binaries.
    pub(crate) harness: Vec<String>,
}

/// How much is tested.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything, as in CI.
    #[default]
    Everything,
    /// The light crates: nothing that depends on wasmtime.
    Light,
}

/// Reads the arguments after `cargo xtask`.
///
/// # Errors
/// An unknown command or option, or an argument that is not UTF-8.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command> {
    let mut words = Vec::new();
    for arg in args {
        words.push(arg.into_string().map_err(|arg| anyhow!("the argument {arg:?} is not valid UTF-8"))?);
    }
    let Some((name, rest)) = words.split_first() else {
        return Ok(Command::Help(Topic::Overview));
    };
    match name.as_str() {
        "help" | "--help" | "-h" => help_topic(rest),
        "tools" => named(Topic::Tools, rest, tools),
        "demo" => named(Topic::Demo, rest, demo),
        "test" => named(Topic::Test, rest, test),
        "bench" => named(Topic::Bench, rest, bench),
        "fuzz" => named(Topic::Fuzz, rest, fuzz),
        other => bail!(
            "unknown command `{other}`: expected tools, demo, test, bench, fuzz or help\n  \
             help: `cargo xtask help` shows what each does"
        ),
    }
}

/// Answers `COMMAND --help`, else hands the rest to the command's own reader.
fn named(topic: Topic, rest: &[String], read: fn(&[String]) -> Result<Command>) -> Result<Command> {
    let ours = rest.iter().take_while(|word| *word != "--");
    if ours.into_iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Command::Help(topic));
    }
    read(rest)
}

fn help_topic(rest: &[String]) -> Result<Command> {
    let topic = match rest {
        [] => Topic::Overview,
        [one] => match one.as_str() {
            "tools" => Topic::Tools,
            "demo" => Topic::Demo,
            "test" => Topic::Test,
            "bench" => Topic::Bench,
            "fuzz" => Topic::Fuzz,
            other => bail!("no help about `{other}`: expected tools, demo, test, bench or fuzz"),
        },
        more => bail!("`help` takes one command, found {}: `{}`", more.len(), more.join(" ")),
    };
    Ok(Command::Help(topic))
}

fn tools(rest: &[String]) -> Result<Command> {
    for word in rest {
        if word.starts_with('-') {
            bail!("`cargo xtask tools` has no option `{word}`: expected names of guests, or nothing for all");
        }
    }
    Ok(Command::Tools { names: rest.to_vec() })
}

fn demo(rest: &[String]) -> Result<Command> {
    let args = match rest.split_first() {
        Some((first, more)) if first == "--" => more,
        _ => rest,
    };
    Ok(Command::Demo { args: args.to_vec() })
}

fn test(rest: &[String]) -> Result<Command> {
    let (ours, harness) = split_at_dashes(rest);
    let mut options = TestOptions { harness, ..TestOptions::default() };
    for word in ours {
        match word.as_str() {
            "--fast" => options.scope = Scope::Light,
            option if option.starts_with('-') => bail!(
                "`cargo xtask test` has no option `{option}`: expected --fast or names of tests\n  \
                 help: arguments for the test binaries go after `--`, as in \
                 `cargo xtask test deadline -- --nocapture`"
            ),
            filter => options.filters.push(filter.to_owned()),
        }
    }
    Ok(Command::Test(options))
}

fn bench(rest: &[String]) -> Result<Command> {
    let (ours, args) = split_at_dashes(rest);
    if let Some(option) = ours.iter().find(|word| word.starts_with('-')) {
        bail!(
            "`cargo xtask bench` has no option `{option}`: expected names of benches\n  \
             help: arguments for the benches go after `--`, as in `cargo xtask bench call -- --json`"
        );
    }
    Ok(Command::Bench { names: ours.to_vec(), args })
}

fn fuzz(rest: &[String]) -> Result<Command> {
    let (mut names, mut seconds) = (Vec::new(), crate::fuzz::SECONDS);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => {
                let number = words.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                seconds =
                    number.ok_or_else(|| anyhow!("`--seconds` needs a number above zero, such as 60"))?;
            }
            option if option.starts_with('-') => {
                bail!("`cargo xtask fuzz` has no option `{option}`: expected --seconds N or names of targets")
            }
            name => names.push(name.to_owned()),
        }
    }
    Ok(Command::Fuzz { names, seconds })
}

/// The words before and after the first `--`.
fn split_at_dashes(words: &[String]) -> (&[String], Vec<String>) {
    let (ours, theirs) = words.split_at(words.iter().position(|word| word == "--").unwrap_or(words.len()));
    (ours, theirs.iter().skip(1).cloned().collect())
}

#[cfg(test)]
mod tests;

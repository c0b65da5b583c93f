//! Child processes: run, wait within a limit, report how they ended.

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::console::Console;
use crate::tally::Tally;

/// How often a child with a time limit is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Runs a command to its end.
///
/// # Errors
/// It cannot be started, or does not end with exit code 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    require_success(command, status)
}

/// Runs a command to its end and says how it ended.
///
/// # Errors
/// It cannot be started.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot start `{}`", shown(command)))
}

/// Runs a command that is killed when it takes longer than `limit`.
///
/// # Errors
/// It cannot be started, takes too long, or does not end with exit code 0.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", shown(command)))?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a child process")? {
            return require_success(command, status);
        }
        if Instant::now() >= deadline {
            child.kill().context("cannot stop a child process that takes too long")?;
            child.wait().context("cannot wait for a stopped child process")?;
            bail!("`{}` did not end within {} s and was stopped", shown(command), limit.as_secs());
        }
        std::thread::sleep(POLL);
    }
}

/// Runs a command to its end and returns what it wrote to stdout.
///
/// # Errors
/// It cannot be started, fails, or writes something other than UTF-8.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}: {}", shown(command), ending(output.status), stderr.trim());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` wrote text that is not UTF-8", shown(command)))
}

/// Runs a test command, passes its stdout through and counts the results in it.
///
/// # Errors
/// It cannot be started, or its output cannot be read.
pub(crate) fn run_counting(command: &mut Command, console: &Console) -> Result<(ExitStatus, Tally)> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    let mut stdout = child.stdout.take().context("the child has no stdout although it was asked for")?;
    let mut tally = Tally::default();
    let mut buffer = [0; 8192];
    loop {
        let length = stdout.read(&mut buffer).context("cannot read the output of the tests")?;
        if length == 0 {
            break;
        }
        let (read, _) = buffer.split_at(length);
        tally.feed(read);
        console.pass_on(read);
    }
    let status = child.wait().context("cannot wait for the tests")?;
    tally.finish();
    Ok((status, tally))
}

/// The exit code a shell would show: signals are 128 and their number.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + signal(status).unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

/// A command as one would type it: the program without its folder, and no environment.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let words =
        std::iter::once(program.file_name().unwrap_or(command.get_program())).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn require_success(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("`{}` ended with {}", shown(command), ending(status))
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), signal(status)) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_that_fails_is_reported_with_what_was_run_and_how_it_ended() {
        let message = run(&mut shell("exit 3")).unwrap_err().to_string();
        assert_eq!(message, "`sh -c exit 3` ended with exit code 3");
        let message = run(&mut shell("kill -9 $$")).unwrap_err().to_string();
        assert_eq!(message, "`sh -c kill -9 $$` ended with signal 9");
        let message = run(&mut Command::new("/nowhere/program")).unwrap_err().to_string();
        assert_eq!(message, "cannot start `program`");
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(exit_code(status(&mut shell("exit 42")).unwrap()), 42);
        assert_eq!(exit_code(status(&mut shell("kill -15 $$")).unwrap()), 143);
    }

    #[test]
    fn a_command_that_takes_too_long_is_stopped() {
        let began = Instant::now();
        let message =
            run_within(&mut shell("exec sleep 600"), Duration::from_millis(200)).unwrap_err().to_string();
        assert!(message.contains("did not end within"), "{message}");
        assert!(began.elapsed() < Duration::from_secs(60));
        run_within(&mut shell("exit 0"), Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn results_are_counted_while_the_output_passes_through() {
        let line = "test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out";
        let (status, tally) =
            run_counting(&mut shell(&format!("echo '{line}'; exit 101")), &Console::quiet()).unwrap();
        assert!(!status.success());
        assert_eq!(tally.counts(), (3, 1, 2));
    }

    #[test]
    fn the_output_of_a_command_that_fails_is_part_of_the_error() {
        assert_eq!(output(&mut shell("echo yes")).unwrap(), "yes\n");
        let message = output(&mut shell("echo reason >&2; exit 1")).unwrap_err().to_string();
        assert!(message.ends_with("ended with exit code 1: reason"), "{message}");
    }
}

//! Runs the real binary and keeps what it said.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long any command of a test may take before it counts as hanging; builds of guests included.
const PATIENCE: Duration = Duration::from_secs(240);

/// What a command said and how it ended.
#[derive(Debug)]
pub struct Said {
    /// The exit code; none when it was killed.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Said {
    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }
}

/// Runs a program without a terminal and without input.
///
/// # Panics
/// When it does not start, or does not end.
#[must_use]
pub fn run(program: &Path, args: &[&str], environment: &[(&str, &str)]) -> Said {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("NO_COLOR", "1").env_remove("HOTCELL_POLICY").env_remove("HOTCELL_MODEL");
    command.envs(environment.iter().copied());
    let begin = Instant::now();
    let child =
        command.spawn().unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
    let output = child.wait_with_output().expect("its output can be read");
    assert!(begin.elapsed() < PATIENCE, "{args:?} took {:?}", begin.elapsed());
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("commands print UTF-8"),
        err: String::from_utf8(output.stderr).expect("commands print UTF-8"),
    }
}

/// Runs `hotcell` with these arguments.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn hotcell(args: &[&str]) -> Said {
    run(&crate::guest::binary(), args, &[])
}

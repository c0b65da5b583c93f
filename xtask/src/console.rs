//! What the user sees: progress on stderr, results on stdout.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Result;

/// Where progress, results and errors go.
///
/// Whoever reads them may be gone (`cargo xtask help | head -1`). That is no failure of the
/// command and nobody is left to be told, so the outcome of a write is not looked at.
pub(crate) struct Console {
    started: Instant,
    stdout: RefCell<Box<dyn Write>>,
    stderr: RefCell<Box<dyn Write>>,
}

impl Console {
    /// Starts the clock of the progress lines.
    pub(crate) fn start() -> Self {
        Self::with(Box::new(io::stdout()), Box::new(io::stderr()))
    }

    /// Writes nowhere, so that what a test of this program prints is not taken for its result.
    #[cfg(test)]
    pub(crate) fn quiet() -> Self {
        Self::with(Box::new(io::sink()), Box::new(io::sink()))
    }

    fn with(stdout: Box<dyn Write>, stderr: Box<dyn Write>) -> Self {
        Self { started: Instant::now(), stdout: RefCell::new(stdout), stderr: RefCell::new(stderr) }
    }

    /// Runs one step between a line that says what begins and one that says how long it took.
    ///
    /// # Errors
    /// The error of the step.
    pub(crate) fn step<T>(&self, what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.progress(&format!("{what} ..."));
        let began = Instant::now();
        let result = work();
        let word = if result.is_ok() { "done" } else { "failed" };
        self.progress(&format!("{what}: {word} after {}", seconds(began.elapsed())));
        result
    }

    /// Writes a progress line that starts with the time since the command was started.
    pub(crate) fn progress(&self, line: &str) {
        write(&self.stderr, &format!("[{:>8}] {line}\n", seconds(self.started.elapsed())));
    }

    /// Writes a result.
    pub(crate) fn print(&self, text: &str) {
        self.pass_on(text.as_bytes());
        if !text.ends_with('\n') {
            self.pass_on(b"\n");
        }
    }

    /// Writes an error.
    pub(crate) fn error(&self, message: &str) {
        write(&self.stderr, &format!("error: {message}\n"));
    }

    /// Writes what a child wrote, at once.
    pub(crate) fn pass_on(&self, bytes: &[u8]) {
        let mut stdout = self.stdout.borrow_mut();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) | Err(_) => {}
        }
    }

    /// The time since the command was started.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("started", &self.started).finish_non_exhaustive()
    }
}

fn write(to: &RefCell<Box<dyn Write>>, text: &str) {
    match to.borrow_mut().write_all(text.as_bytes()) {
        Ok(()) | Err(_) => {}
    }
}

/// A time with one decimal, such as `12.3 s`.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_hands_on_what_the_work_returns() {
        let console = Console::quiet();
        assert_eq!(console.step("good", || Ok(7)).unwrap(), 7);
        let error = console.step("bad", || -> Result<()> { anyhow::bail!("broken") }).unwrap_err();
        assert_eq!(error.to_string(), "broken");
    }

    #[test]
    fn times_are_shown_in_seconds_with_one_decimal() {
        assert_eq!(seconds(Duration::from_millis(61_249)), "61.2 s");
    }
}

//! Collects how each step ended and sums the tests of all of them.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::console::{Console, seconds};
use crate::process;
use crate::tally::Tally;

/// The steps so far.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    console: &'a Console,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    counts: Counts,
    note: String,
    elapsed: Duration,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl<'a> Report<'a> {
    /// A report without steps.
    pub(crate) fn new(console: &'a Console) -> Self {
        Self { console, rows: Vec::new() }
    }

    /// Runs a step without tests of its own; it counts as one. Returns whether it passed.
    pub(crate) fn check(&mut self, name: &str, work: impl FnOnce() -> Result<()>) -> bool {
        let began = Instant::now();
        let result = self.console.step(name, work);
        let passed = result.is_ok();
        let note = match result {
            Ok(()) => String::new(),
            Err(error) => {
                self.console.error(&format!("{name}: {error:#}"));
                "failed".to_owned()
            }
        };
        let counts = Counts { passed: u64::from(passed), failed: u64::from(!passed), ignored: 0 };
        self.rows.push(Row { name: name.to_owned(), counts, note, elapsed: began.elapsed() });
        passed
    }

    /// Runs tests and counts them; a runner that fails without a failed test counts as one failure.
    pub(crate) fn tests(&mut self, name: &str, command: impl FnOnce() -> Command) {
        let began = Instant::now();
        let result = self.console.step(name, || {
            let mut command = command();
            let (status, tally) = process::run_counting(&mut command, self.console)?;
            Ok((status.success(), tally))
        });
        let (counts, note) = match result {
            Ok((success, tally)) => verdict(success, &tally),
            Err(error) => {
                self.console.error(&format!("{name}: {error:#}"));
                (Counts { failed: 1, ..Counts::default() }, "could not run".to_owned())
            }
        };
        self.rows.push(Row { name: name.to_owned(), counts, note, elapsed: began.elapsed() });
    }

    /// Notes a step that cannot run because of an earlier one; it counts as one failure.
    pub(crate) fn skipped(&mut self, name: &str, reason: &str) {
        self.rows.push(Row {
            name: name.to_owned(),
            counts: Counts { failed: 1, ..Counts::default() },
            note: format!("not run: {reason}"),
            elapsed: Duration::ZERO,
        });
    }

    /// Prints the table and, as the last line, `N passed, N failed`.
    pub(crate) fn finish(self) -> ExitCode {
        let total = self.total();
        self.console.print(&self.table());
        self.console.print(&format!("{} passed, {} failed", total.passed, total.failed));
        if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn total(&self) -> Counts {
        self.rows.iter().fold(Counts::default(), |sum, row| Counts {
            passed: sum.passed.saturating_add(row.counts.passed),
            failed: sum.failed.saturating_add(row.counts.failed),
            ignored: sum.ignored.saturating_add(row.counts.ignored),
        })
    }

    fn table(&self) -> String {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let mut lines = vec![String::new()];
        for Row { name, counts: Counts { passed, failed, ignored }, note, elapsed } in &self.rows {
            let elapsed = seconds(*elapsed);
            let line = format!(
                "{name:width$}  {passed:>5} passed {failed:>3} failed {ignored:>3} ignored {elapsed:>9}  {note}"
            );
            lines.push(line.trim_end().to_owned());
        }
        lines.push(format!("{:width$}  {}", "time", seconds(self.console.elapsed())));
        lines.join("\n")
    }
}

/// What a finished test command counts as.
fn verdict(success: bool, tally: &Tally) -> (Counts, String) {
    let (passed, failed, ignored) = tally.counts();
    let counts = Counts { passed, failed, ignored };
    if success || failed > 0 {
        return (counts, String::new());
    }
    // A test binary that does not compile, aborts or is killed prints no result line.
    (Counts { failed: 1, ..counts }, "a runner failed without a result".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(output: &str) -> Tally {
        let mut tally = Tally::default();
        tally.feed(output.as_bytes());
        tally.finish();
        tally
    }

    #[test]
    fn a_runner_that_fails_without_a_failed_test_counts_as_one_failure() {
        let clean = tally("test result: ok. 5 passed; 0 failed; 0 ignored");
        assert_eq!(verdict(true, &clean).0, Counts { passed: 5, failed: 0, ignored: 0 });
        assert_eq!(verdict(false, &clean).0, Counts { passed: 5, failed: 1, ignored: 0 });
        let bad = tally("test result: FAILED. 5 passed; 2 failed; 1 ignored");
        assert_eq!(verdict(false, &bad).0, Counts { passed: 5, failed: 2, ignored: 1 });
    }

    #[test]
    fn the_sum_covers_checks_tests_and_steps_that_could_not_run() {
        let console = Console::quiet();
        let mut report = Report::new(&console);
        assert!(report.check("format", || Ok(())));
        assert!(!report.check("clippy", || anyhow::bail!("a warning")));
        report.skipped("tests", "they do not compile");
        assert_eq!(report.total(), Counts { passed: 1, failed: 2, ignored: 0 });
        let table = report.table();
        assert!(table.contains("not run: they do not compile"), "{table}");
        assert_eq!(report.finish(), ExitCode::FAILURE);
    }

    #[cfg(unix)]
    #[test]
    fn the_results_of_a_test_command_are_counted() {
        let console = Console::quiet();
        let mut report = Report::new(&console);
        report.tests("good", || {
            let mut command = Command::new("echo");
            command.arg("test result: ok. 4 passed; 0 failed; 0 ignored");
            command
        });
        report.tests("missing", || Command::new("/nowhere/cargo"));
        assert_eq!(report.total(), Counts { passed: 4, failed: 1, ignored: 0 });
    }
}

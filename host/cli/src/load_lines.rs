//! Says on standard error that a component is being compiled, when that takes long enough to wonder.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hotcell::text::{cap_chars, escape_control};
use hotcell::units::format_duration;
use hotcell::{LoadEvent, LoadObserver, LoadProgress};

use crate::console::{note, note_part};

/// A compile that is done by then is not worth a word.
const WORTH_A_WORD: Duration = Duration::from_millis(300);

/// Characters of a name that are shown, so that the line stays one line.
const NAME_CHARS: usize = 40;

/// Back to the start of the line, which is made empty.
const CLEAR: &str = "\r\x1b[K";

/// One line that changes in a terminal; elsewhere one line for each component.
#[derive(Debug)]
pub(crate) struct LoadLines {
    terminal: bool,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    /// Whether the terminal has a line of ours that has to go.
    line: bool,
    /// Components that had their line elsewhere.
    said: BTreeSet<String>,
}

impl LoadLines {
    /// None with `--json`, whose reader wants nothing but JSON.
    pub(crate) fn unless(json: bool) -> Option<Arc<dyn LoadObserver>> {
        (!json).then(|| Arc::new(Self { terminal: stderr().is_terminal(), shown: Mutex::default() }) as _)
    }
}

impl LoadObserver for LoadLines {
    fn progress(&self, event: &LoadEvent<'_>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match text(event) {
            Some(text) if self.terminal => {
                note_part(format_args!("{CLEAR}{text}"));
                shown.line = true;
            }
            Some(text) if shown.said.insert(event.name.to_owned()) => note(text),
            Some(_) => {}
            None => {
                if std::mem::take(&mut shown.line) {
                    note_part(CLEAR);
                }
            }
        }
    }
}

/// What there is to say at this moment.
fn text(event: &LoadEvent<'_>) -> Option<String> {
    let name = escape_control(&cap_chars(event.name, NAME_CHARS));
    match event.progress {
        LoadProgress::Compiling { since } if since >= WORTH_A_WORD => {
            Some(format!("compiling `{name}`, once for this machine: {}", format_duration(rounded(since))))
        }
        LoadProgress::Queued { place, of } => {
            Some(format!("`{name}` waits to be compiled: place {place} of {of}"))
        }
        LoadProgress::Compiling { .. } | LoadProgress::Done { .. } | LoadProgress::Stopped => None,
    }
}

/// Tenths of a second are what people can follow.
fn rounded(time: Duration) -> Duration {
    let tenths = time.as_millis() / 100;
    Duration::from_millis(u64::try_from(tenths).unwrap_or(u64::MAX).saturating_mul(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, progress: LoadProgress, expected: Option<&str>) {
        assert_eq!(text(&LoadEvent { name, progress }).as_deref(), expected);
    }

    #[test]
    fn only_what_takes_long_is_worth_a_word() {
        let compiling = |millis| LoadProgress::Compiling { since: Duration::from_millis(millis) };
        check("notes", compiling(0), None);
        check("notes", compiling(299), None);
        check("notes", compiling(1_270), Some("compiling `notes`, once for this machine: 1.20 s"));
        let queued = LoadProgress::Queued { place: 2, of: 3 };
        check("notes", queued, Some("`notes` waits to be compiled: place 2 of 3"));
        check("\x1b[2Jx", queued, Some("`\\u{1b}[2Jx` waits to be compiled: place 2 of 3"));
        check("notes", LoadProgress::Stopped, None);
        check("notes", LoadProgress::Done { took: Duration::from_secs(9), from_cache: false }, None);
    }
}

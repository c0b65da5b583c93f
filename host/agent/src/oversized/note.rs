//! The note in front of a result that is shown in part.

use hotcell_core::results::ResultHandle;

use super::reader::READER_NAME;
use crate::shape::thousands;

/// How much of a text, in characters and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) chars: usize,
    pub(super) lines: usize,
}

impl Shown {
    pub(super) fn of(text: &str) -> Self {
        Self { chars: text.chars().count(), lines: text.lines().count() }
    }
}

/// How much the note says; a small limit leaves room for little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Full,
    Short,
    HandleOnly,
}

/// A note about one kept result.
#[derive(Debug, Clone)]
pub(super) struct Note<'a> {
    handle: &'a ResultHandle,
    total: Shown,
    form: Form,
}

impl<'a> Note<'a> {
    /// The fullest note that leaves at least a third of the limit to the result itself.
    pub(super) fn for_preview(handle: &'a ResultHandle, total: Shown, max_chars: usize) -> Option<Self> {
        [Form::Full, Form::Short, Form::HandleOnly]
            .into_iter()
            .map(|form| Self { handle, total, form })
            .find(|note| (note.longest() + 1).saturating_mul(3) <= max_chars.saturating_mul(2))
    }

    /// Characters of the longest text this note can have: with every number as large as it can be.
    pub(super) fn longest(&self) -> usize {
        self.text(self.total, self.total.chars).chars().count()
    }

    /// The note, when this much is shown and reading goes on at this character.
    pub(super) fn text(&self, shown: Shown, continue_at: usize) -> String {
        let go_on = call(self.handle, &format!(r#","char_offset":{continue_at}"#));
        let chars = format!("{} of {} characters", thousands(shown.chars), thousands(self.total.chars));
        match self.form {
            Form::Full => format!(
                "[Only a part of this result is shown: {chars} ({}%), {} of {} lines. The whole is kept. Read \
                 what you need before you rely on it.\nTo find passages: {}\nTo go on reading: {go_on}]",
                percent(shown.chars, self.total.chars),
                thousands(shown.lines),
                thousands(self.total.lines),
                call(self.handle, r#","pattern":"...""#),
            ),
            Form::Short => format!("[{chars}; go on: {go_on}]"),
            Form::HandleOnly => format!("[cut; {}]", call(self.handle, "")),
        }
    }
}

/// The note of a list whose records are all there, with their texts cut.
pub(super) fn of_records(
    handle: &ResultHandle,
    records: usize,
    cap: usize,
    shown: usize,
    total: usize,
) -> String {
    format!(
        "[All {} records are shown, their texts cut to {} characters: {} of {} characters ({}%). The whole is \
         kept. Read what was cut before you rely on it.\nTo find passages: {}\nTo read from the start: {}]",
        thousands(records),
        thousands(cap),
        thousands(shown),
        thousands(total),
        percent(shown, total),
        call(handle, r#","pattern":"...""#),
        call(handle, ""),
    )
}

/// The exact call that reads this result.
fn call(handle: &ResultHandle, more: &str) -> String {
    format!(r#"{READER_NAME} {{"result_id":"{handle}"{more}}}"#)
}

/// Rounded down, so that a part is never called the whole.
fn percent(part: usize, whole: usize) -> usize {
    part.saturating_mul(100).checked_div(whole).unwrap_or(100).min(100)
}

//! One part of a kept result, by lines and characters.

use hotcell_core::results::ResultHandle;

use super::reader::READER_NAME;
use crate::shape::thousands;

/// Most lines of one read.
pub(super) const MAX_LINES: usize = 2_000;

/// A result that is over the limit by at most this part of it comes back whole: 12,001 characters are one read.
const SLACK: usize = 16;

/// What a read asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// The first line, from 0.
    pub(super) offset: usize,
    /// Most lines.
    pub(super) limit: usize,
    /// Characters to skip from the start of that line.
    pub(super) char_offset: usize,
    /// Most characters; 0 is as many as fit.
    pub(super) max_chars: usize,
}

/// What a read gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    /// What the model reads: a line that says which part it is, when it is one, then the part as it is.
    pub(super) text: String,
    /// The characters of the part, from the start of the result; the end is not part of it.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A place in a text, counted in all three ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) byte: usize,
    pub(super) char: usize,
    pub(super) line: usize,
}

impl Place {
    /// The place `byte` bytes into the text, which lies behind this one.
    pub(super) fn advance(self, text: &str, byte: usize) -> Self {
        let between = text.get(self.byte..byte).unwrap_or_default();
        Self {
            byte,
            char: self.char + between.chars().count(),
            line: self.line + between.bytes().filter(|byte| *byte == b'\n').count(),
        }
    }
}

/// Reads a part, at most `max_chars` characters long with what is said about it.
///
/// # Errors
/// There is nothing at the place asked for; the text says what there is.
pub(super) fn read(
    text: &str,
    handle: &ResultHandle,
    asked: &Asked,
    max_chars: usize,
) -> Result<Window, String> {
    let from_the_start = Asked { offset: 0, limit: MAX_LINES, char_offset: 0, max_chars: 0 };
    let whole = Place::default().advance(text, text.len());
    if *asked == from_the_start && whole.char <= max_chars.saturating_add((max_chars / SLACK).max(1)) {
        return Ok(Window { text: text.to_owned(), start: 0, end: whole.char });
    }
    let start = start(text, asked).ok_or_else(|| nothing_there(whole))?;
    let rest = text.get(start.byte..).unwrap_or_default();
    let lines_end = rest.match_indices('\n').nth(asked.limit.saturating_sub(1)).map(|(at, _)| at + 1);
    let wanted = rest.get(..lines_end.unwrap_or(rest.len())).unwrap_or(rest);
    let most = if asked.max_chars == 0 { usize::MAX } else { asked.max_chars };

    let head = Head { handle, whole };
    let form = head.form(max_chars);
    let room = max_chars.saturating_sub(form.map_or(0, |form| head.longest(form) + 1)).min(most);
    let end = wanted.char_indices().nth(room).map_or(wanted.len(), |(at, _)| at);
    let part = wanted.get(..end).unwrap_or(wanted);
    let end = start.advance(text, start.byte + part.len());
    let said = form.map(|form| format!("{}\n", head.text(form, start, end))).unwrap_or_default();
    Ok(Window { text: format!("{said}{part}"), start: start.char, end: end.char })
}

/// Where reading starts; `None` at or behind the end.
pub(super) fn start(text: &str, asked: &Asked) -> Option<Place> {
    let line = match asked.offset.checked_sub(1) {
        None => 0,
        Some(before) => text.match_indices('\n').nth(before)?.0 + 1,
    };
    let byte = text.get(line..)?.char_indices().nth(asked.char_offset)?.0 + line;
    Some(Place::default().advance(text, byte))
}

pub(super) fn nothing_there(whole: Place) -> String {
    format!(
        "There is nothing at this place: the result has {} characters in {} lines, both counted from 0.",
        thousands(whole.char),
        thousands(whole.line + 1)
    )
}

/// How much is said about a part; a small limit leaves room for little.
#[derive(Debug, Clone, Copy)]
enum Form {
    Full,
    Short,
    Bare,
}

/// The line in front of a part.
struct Head<'a> {
    handle: &'a ResultHandle,
    whole: Place,
}

impl Head<'_> {
    /// The fullest line that leaves at least a third of the limit to the part itself.
    fn form(&self, max_chars: usize) -> Option<Form> {
        let fits = |form: &Form| (self.longest(*form) + 1).saturating_mul(3) <= max_chars.saturating_mul(2);
        [Form::Full, Form::Short, Form::Bare].into_iter().find(fits)
    }

    /// Characters of the longest line: with every number as large as it can be, and something left to read.
    fn longest(&self, form: Form) -> usize {
        let almost = Place { char: self.whole.char.saturating_sub(1), ..self.whole };
        self.text(form, almost, almost)
            .chars()
            .count()
            .max(self.text(form, almost, self.whole).chars().count())
    }

    fn text(&self, form: Form, start: Place, end: Place) -> String {
        let handle = self.handle;
        let at_end = end.char >= self.whole.char;
        match form {
            Form::Full => {
                let go_on = if at_end {
                    "this is the end".to_owned()
                } else {
                    format!(r#"go on: {READER_NAME} {{"result_id":"{handle}","char_offset":{}}}"#, end.char)
                };
                format!(
                    "[characters {} to {} of {}, lines {} to {} of {}; {go_on}]",
                    thousands(start.char),
                    thousands(end.char),
                    thousands(self.whole.char),
                    thousands(start.line),
                    thousands(end.line),
                    thousands(self.whole.line + 1),
                )
            }
            Form::Short if at_end => format!("[{} to the end]", start.char),
            Form::Short => format!(
                r#"[{} to {} of {}; go on: "char_offset":{}]"#,
                start.char, end.char, self.whole.char, end.char
            ),
            Form::Bare => format!("[to {}]", end.char),
        }
    }
}

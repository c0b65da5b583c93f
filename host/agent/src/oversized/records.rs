//! Lists of records: all of them stay, their texts cut to one length until the list fits.

use std::io::{self, Write};

use hotcell_core::results::ResultHandle;
use hotcell_core::text::cap_chars;
use serde_json::{Map, Value};

use super::note::{Shown, of_records};
use crate::shape::thousands;

/// Longest text that is tried; fitting walks it several times.
const MAX_CHARS: usize = 5_000_000;

/// Texts are not cut shorter than this; a list that needs it is shown in part instead.
const MIN_TEXT_CHARS: usize = 300;

type Record = Map<String, Value>;

/// A list of records and what is around it.
pub(super) struct Records {
    root: Value,
    /// The field of the root the list is in; `None` when the root is the list.
    field: Option<String>,
}

impl Records {
    /// Reads a text that is a list of objects, or an object with such a list in a field; the largest counts.
    pub(super) fn read(text: &str) -> Option<Self> {
        if !text.trim_start().starts_with(['[', '{']) {
            return None;
        }
        let root: Value = serde_json::from_str(text).ok()?;
        let field = match &root {
            Value::Array(items) => {
                is_list(items).then_some(())?;
                None
            }
            Value::Object(members) => {
                let lists = members.iter().filter_map(|(name, value)| match value {
                    Value::Array(items) if is_list(items) => Some((name, size(value, usize::MAX)?)),
                    _ => None,
                });
                Some(lists.max_by_key(|(_, size)| *size)?.0.clone())
            }
            _ => return None,
        };
        Some(Self { root, field })
    }

    /// The records, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        let list = match &self.field {
            Some(field) => self.root.get(field),
            None => Some(&self.root),
        };
        list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
    }

    /// The whole value with every text of a record cut to this length.
    fn cut(&self, cap: usize) -> Value {
        let records = self.iter().map(|record| {
            let cut = record.iter().map(|(name, value)| (name.clone(), cut_text(value, cap)));
            Value::Object(cut.collect())
        });
        let list = Value::Array(records.collect());
        match (&self.field, &self.root) {
            (Some(field), Value::Object(members)) => Value::Object(
                members
                    .iter()
                    .map(|(name, value)| {
                        (name.clone(), if name == field { list.clone() } else { value.clone() })
                    })
                    .collect(),
            ),
            _ => list,
        }
    }

    fn longest_text(&self) -> usize {
        let texts = self.iter().flat_map(|record| record.values().filter_map(Value::as_str));
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

/// The list with its note, within the limit; `None` when the text is no such list or cannot fit.
pub(super) fn fitted(whole: &str, handle: &ResultHandle, total: Shown, max_chars: usize) -> Option<String> {
    if total.chars > MAX_CHARS {
        return None;
    }
    let records = Records::read(whole)?;
    let count = records.iter().count();
    // The longest the note can be: with every number as large as it can be.
    let longest = of_records(handle, count, total.chars, total.chars, total.chars).chars().count();
    let room = max_chars.checked_sub(longest + 1)?;
    let fits = |cap: usize| size(&records.cut(cap), room);
    fits(MIN_TEXT_CHARS)?;
    let (mut good, mut bad) = (MIN_TEXT_CHARS, records.longest_text().min(room) + 1);
    while bad.saturating_sub(good) > 1 {
        let middle = good.midpoint(bad);
        if fits(middle).is_some() {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let text = records.cut(good).to_string();
    let shown = text.chars().count();
    Some(format!("{}\n{text}", of_records(handle, count, good, shown, total.chars)))
}

fn is_list(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(Value::is_object)
}

fn cut_text(value: &Value, cap: usize) -> Value {
    match value {
        Value::String(text) if text.len() > cap => {
            let missing = text.chars().count().saturating_sub(cap);
            if missing == 0 {
                return value.clone();
            }
            Value::String(format!("{} [... {} more characters]", cap_chars(text, cap), thousands(missing)))
        }
        other => other.clone(),
    }
}

/// Characters of the value as JSON, when they are at most `room`; counting stops there.
fn size(value: &Value, room: usize) -> Option<usize> {
    let mut counter = Counter { chars: 0, room };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(counter.chars)
}

struct Counter {
    chars: usize,
    room: usize,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A character starts at each byte that does not continue one.
        self.chars += bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count();
        if self.chars > self.room {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

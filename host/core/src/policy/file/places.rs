//! Where each key of a policy file stands, so that a decision can name the line it comes from.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::words::{join, quote_key, quote_text};

/// How deep keys are followed; the deepest one of a policy, such as `components.a.grants.files[0].host`, has five
/// tables and an array around it.
const MAX_DEPTH: usize = 8;

/// A line and a column in characters, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// The places of all keys of one policy file.
#[derive(Debug, Clone, Default)]
pub struct Places {
    text: String,
    /// Where each line of the text begins; counted once, because a caller may ask for every key of a large file.
    line_starts: Vec<usize>,
    offsets: BTreeMap<String, usize>,
}

impl Places {
    /// Notes the places of a text that [`PolicyFile::parse`](super::PolicyFile::parse) accepts.
    pub(super) fn of(text: &str) -> Self {
        let after_each_line = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(after_each_line).collect();
        let mut places = Self { text: text.to_owned(), line_starts, offsets: BTreeMap::new() };
        let (root, _errors) = DeTable::parse_recoverable(text);
        places.note_table("", root.get_ref(), 0);
        places
    }

    /// Where this key stands; the path is the one errors show, such as `components.notes.tools.write.permission`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Place> {
        let at = *self.offsets.get(path)?;
        let line = self.line_starts.partition_point(|start| *start <= at);
        let start = *self.line_starts.get(line.checked_sub(1)?)?;
        Some(Place { line, column: self.text.get(start..at)?.chars().count() + 1 })
    }

    fn note_table(&mut self, path: &str, table: &DeTable<'_>, depth: usize) {
        for (key, value) in table {
            let path = join(path, key.get_ref());
            // Tables may be opened in many places; the first is where a reader looks.
            self.offsets.entry(path.clone()).or_insert(key.span().start);
            self.note_value(&path, value, depth + 1);
        }
    }

    fn note_value(&mut self, path: &str, value: &Spanned<DeValue<'_>>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value.get_ref() {
            DeValue::Table(table) => self.note_table(path, table, depth),
            DeValue::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    self.offsets.insert(path.clone(), element.span().start);
                    self.note_value(&path, element, depth + 1);
                }
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }
}

/// The path of a key as errors and [`Places`] show it: parts that are no bare TOML keys are quoted.
///
/// ```
/// use hotcell_core::policy::file::key_path;
///
/// assert_eq!(key_path(&["components", "my tool", "digest"]), r#"components."my tool".digest"#);
/// ```
#[must_use]
pub fn key_path(parts: &[&str]) -> String {
    parts.iter().map(|part| quote_key(part)).collect::<Vec<_>>().join(".")
}

/// The text as TOML writes it: in quotes, with what could steer a terminal escaped.
#[must_use]
pub fn quoted(text: &str) -> String {
    quote_text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_every_way_toml_can_write_them() {
        let text = "version = 1\n[components.\"a b\"]\nsource = 'a.wasm'\n  tools.write = { permission = \"ask\" }\n\
                    grants.files = [\n  { host = \"x\", guest = \"/x\" },\n]\n[defaults]\npermission = \"deny\"\n";
        let places = Places::of(text);
        let line = |path: &str| places.get(path).map(|place| place.line);
        assert_eq!(line(&key_path(&["components", "a b", "source"])), Some(3));
        assert_eq!(line("components.\"a b\".tools.write.permission"), Some(4));
        assert_eq!(line("components.\"a b\".grants.files[0]"), Some(6));
        assert_eq!(places.get("defaults.permission"), Some(Place { line: 9, column: 1 }));
        assert_eq!(line("components.other"), None);
    }
}

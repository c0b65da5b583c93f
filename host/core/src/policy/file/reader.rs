//! Reads typed values out of the parsed TOML and keeps every problem on the way.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::ROOT_KEYS;
use super::problem::{Problem, Problems, quote};
use super::words::{hint, join, one_of};

/// One value with its key path and its place in the text.
pub(super) struct Node<'a> {
    pub(super) key: String,
    pub(super) path: String,
    key_at: usize,
    at: usize,
    value: &'a DeValue<'a>,
}

/// A table with its key path.
pub(super) struct Fields<'a> {
    path: String,
    at: usize,
    table: &'a DeTable<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn root(table: &'a DeTable<'a>) -> Self {
        Self { path: String::new(), at: 0, table }
    }

    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.table.get_key_value(key).map(|(key, value)| self.node(key, value))
    }

    pub(super) fn each(&self) -> impl Iterator<Item = Node<'a>> + use<'_, 'a> {
        self.table.iter().map(|(key, value)| self.node(key, value))
    }

    /// The table under this key; what is no table was reported by whoever read it.
    pub(super) fn table(&self, key: &str) -> Option<Self> {
        let node = self.get(key)?;
        let DeValue::Table(table) = node.value else { return None };
        Some(Self { path: node.path, at: node.key_at, table })
    }

    fn node(&self, key: &Spanned<DeString<'_>>, value: &'a Spanned<DeValue<'a>>) -> Node<'a> {
        Node {
            key: key.get_ref().to_string(),
            path: join(&self.path, key.get_ref()),
            key_at: key.span().start,
            at: value.span().start,
            value: value.get_ref(),
        }
    }
}

/// Collects problems while values are read.
pub(super) struct Reader {
    problems: Problems,
}

impl Reader {
    pub(super) fn new(problems: Problems) -> Self {
        Self { problems }
    }

    pub(super) fn into_problems(self) -> Problems {
        self.problems
    }

    /// Reports every key of the table that is not in `known`.
    pub(super) fn refuse_unknown(&mut self, fields: &Fields<'_>, known: &[&str]) {
        self.refuse_unknown_except(fields, known, &[]);
    }

    /// Reports every key that is not in `known`, except those in `reported`, which the caller speaks of.
    pub(super) fn refuse_unknown_except(&mut self, fields: &Fields<'_>, known: &[&str], reported: &[&str]) {
        let is_known = |key: &str| known.contains(&key) || reported.contains(&key);
        for node in fields.each().filter(|node| !is_known(&node.key)) {
            let help = if !fields.path.is_empty() && ROOT_KEYS.contains(&node.key.as_str()) {
                format!(
                    "`{}` belongs to the top of the file, and this line is in `{}`; move it above the first table",
                    node.key, fields.path
                )
            } else {
                hint(&node.key, known, "remove it, or write one of these keys")
            };
            let found = format!("the unknown key `{}`", quote(&node.key));
            self.push(node.key_at, Problem::new(&node.path, &one_of(known, '`'), found, &help));
        }
    }

    /// Reports that a key is not there.
    pub(super) fn missing(&mut self, fields: &Fields<'_>, key: &str, help: &str) {
        if !self.problems.has_syntax() {
            let path = join(&fields.path, key);
            self.push(fields.at, Problem::new(&path, &format!("the key `{key}`"), "none".into(), help));
        }
    }

    /// Reports a value that is of the right type and still wrong.
    pub(super) fn wrong(&mut self, node: &Node<'_>, expected: &str, help: &str) {
        self.push(node.at, Problem::new(&node.path, expected, describe(node.value), help));
    }

    /// Reports a key that is wrong where it stands.
    pub(super) fn wrong_key(&mut self, node: &Node<'_>, expected: &str, found: String, help: &str) {
        self.push(node.key_at, Problem::new(&node.path, expected, found, help));
    }

    fn push(&mut self, at: usize, problem: Problem) {
        self.problems.push(at, problem);
    }

    /// The table with nothing but known keys in it.
    pub(super) fn fields<'a>(&mut self, node: &Node<'a>, known: &[&str]) -> Option<Fields<'a>> {
        let fields = self.map(node, &format!("a table with {}", one_of(known, '`')))?;
        self.refuse_unknown(&fields, known);
        Some(fields)
    }

    /// The table, whatever its keys are.
    pub(super) fn map<'a>(&mut self, node: &Node<'a>, expected: &str) -> Option<Fields<'a>> {
        if let DeValue::Table(table) = node.value {
            Some(Fields { path: node.path.clone(), at: node.key_at, table })
        } else {
            self.wrong(node, expected, "write a table: `{ KEY = VALUE }`, or `[...]` on a line of its own");
            None
        }
    }

    /// The elements of an array.
    pub(super) fn array<'a>(&mut self, node: &Node<'a>, expected: &str, help: &str) -> Vec<Node<'a>> {
        let DeValue::Array(array) = node.value else {
            self.wrong(node, expected, help);
            return Vec::new();
        };
        let element = |(index, value): (usize, &'a Spanned<DeValue<'a>>)| Node {
            key: index.to_string(),
            path: format!("{}[{index}]", node.path),
            key_at: value.span().start,
            at: value.span().start,
            value: value.get_ref(),
        };
        array.iter().enumerate().map(element).collect()
    }

    pub(super) fn text<'a>(&mut self, node: &Node<'a>, expected: &str, help: &str) -> Option<&'a str> {
        if let DeValue::String(text) = node.value {
            Some(text)
        } else {
            self.wrong(node, expected, help);
            None
        }
    }

    pub(super) fn integer(&mut self, node: &Node<'_>, expected: &str, help: &str) -> Option<i128> {
        let number = match node.value {
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix()).ok(),
            DeValue::String(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        if number.is_none() {
            self.wrong(node, expected, help);
        }
        number
    }

    pub(super) fn flag(&mut self, node: &Node<'_>) -> Option<bool> {
        if let DeValue::Boolean(value) = node.value {
            Some(*value)
        } else {
            self.wrong(node, "true or false", "write the word without quotes");
            None
        }
    }

    /// A text that is one of a few words.
    pub(super) fn word<T: Copy>(&mut self, node: &Node<'_>, words: &[(&str, T)]) -> Option<T> {
        let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let expected = one_of(&names, '"');
        let text = self.text(node, &expected, "write the word in double quotes")?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            self.wrong(node, &expected, &hint(text, &names, "write one of these words"));
        }
        found
    }
}

impl Node<'_> {
    pub(super) fn is_text(&self, text: &str) -> bool {
        matches!(self.value, DeValue::String(found) if found == text)
    }
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", quote(text)),
        DeValue::Integer(number) => format!("the integer {}", quote(&number.to_string())),
        DeValue::Float(number) => format!("the number {}", quote(number.as_str())),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(time) => format!("the time {time}"),
        DeValue::Array(_) => "an array".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

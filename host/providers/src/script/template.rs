//! Texts with `{{path}}` in them.

use serde_json::Value;

use super::results::{Path, Results};

/// A text whose paths have been read.
#[derive(Debug, Clone)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Path(Path),
}

impl Template {
    /// Splits the text at its paths.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            if !before.is_empty() {
                pieces.push(Piece::Text(before.into()));
            }
            let Some((path, after)) = after.split_once("}}") else {
                return Err(format!("`{{{{{}` has no `}}}}` at its end", short(after)));
            };
            pieces.push(Piece::Path(Path::parse(path.trim())?));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.into()));
        }
        Ok(Self { pieces })
    }

    /// The text with every value printed.
    pub(super) fn print(&self, results: &Results<'_>, budget: &mut Budget) -> Result<String, String> {
        let mut out = String::new();
        for piece in &self.pieces {
            let text = match piece {
                Piece::Text(text) => text.clone(),
                Piece::Path(path) => print(&results.find(path)?),
            };
            budget.spend(text.len())?;
            out.push_str(&text);
        }
        Ok(out)
    }

    /// The value of the only path, or the printed text as a string.
    fn value(&self, results: &Results<'_>, budget: &mut Budget) -> Result<Value, String> {
        if let [Piece::Path(path)] = self.pieces.as_slice() {
            let value = results.find(path)?;
            budget.spend(value.to_string().len())?;
            Ok(value)
        } else {
            self.print(results, budget).map(Value::String)
        }
    }
}

/// Checks every string of the value.
pub(super) fn check(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => Template::parse(text).map(|_| ()),
        Value::Array(items) => items.iter().try_for_each(check),
        Value::Object(fields) => fields.values().try_for_each(check),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// The value with the paths of every string replaced.
///
/// The depth is that of the script's own JSON, whose parser bounds it.
pub(super) fn fill(value: &Value, results: &Results<'_>, budget: &mut Budget) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Template::parse(text)?.value(results, budget)?,
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| fill(item, results, budget)).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), fill(value, results, budget)?)))
                .collect::<Result<_, String>>()?,
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// A value inside of a text: strings as they are, whole numbers without a fraction, the rest as JSON.
fn print(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            // Below 2^53 a whole float is exact, and a reader expects 1200, not 1200.0.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                format!("{float:.0}")
            }
            Some(_) | None => number.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// How many bytes a reply may still grow.
pub(super) struct Budget {
    most: usize,
    left: usize,
}

impl Budget {
    pub(super) fn new(most: usize) -> Self {
        Self { most, left: most }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(format!("with its values the reply has more than {} bytes; quote less", self.most)),
        }
    }
}

/// A piece of the script for a message.
pub(super) fn short(text: &str) -> String {
    hotcell_core::text::escape_control(&hotcell_core::text::cap_chars(text, 200))
}

//! One value of a table.

use schemars::JsonSchema;
use serde::Serialize;

use crate::decimal::Decimal;

/// One value; the order of the variants is the order of a sort, so empty cells come first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Cell {
    /// Nothing, in a column of numbers or in an aggregate over nothing.
    Empty,
    /// A number.
    Number(Decimal),
    /// A text.
    Text(String),
}

impl Cell {
    /// The value of a field; `numeric` fields that are not empty hold numbers.
    pub(crate) fn read(text: String, numeric: bool) -> Self {
        match Decimal::parse(&text) {
            Some(number) if numeric => Self::Number(number),
            None if numeric => Self::Empty,
            Some(_) | None => Self::Text(text),
        }
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Number(_) => false,
            Self::Text(text) => text.is_empty(),
        }
    }

    /// The value as it reads.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

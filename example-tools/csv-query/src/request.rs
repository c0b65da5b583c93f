//! What a model can ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question about a table. The steps run in this order: filter, group and aggregate, sort, limit, select.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// The CSV text; its first row names the columns.
    pub(crate) csv: String,
    /// The character between fields; `,` unless it is given.
    #[serde(default)]
    pub(crate) delimiter: Option<char>,
    /// Conditions that all have to hold for a row.
    #[serde(default)]
    pub(crate) filter: Vec<Filter>,
    /// Columns whose equal values are put into one row. Without `aggregate` the result is the distinct values.
    #[serde(default)]
    pub(crate) group_by: Vec<String>,
    /// Values to compute per group, or over all rows when `group_by` is not given.
    #[serde(default)]
    pub(crate) aggregate: Vec<Aggregate>,
    /// Result columns to sort by, the most important one first.
    #[serde(default)]
    pub(crate) sort: Vec<Sort>,
    /// Most rows to return; 100 unless it is given, at most 10000.
    #[serde(default)]
    pub(crate) limit: Option<u32>,
    /// Result columns to return, in this order; all of them unless it is given.
    #[serde(default)]
    pub(crate) select: Option<Vec<String>>,
}

/// One condition. Texts compare by character, so dates written `2026-07-31` compare as dates.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// The column to look at.
    pub(crate) column: String,
    /// How to compare; `contains` looks for a piece of text and ignores upper and lower case.
    pub(crate) op: Operator,
    /// What to compare with.
    pub(crate) value: Operand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum Operator {
    #[serde(rename = "=")]
    Equal,
    #[serde(rename = "!=")]
    NotEqual,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = ">=")]
    GreaterOrEqual,
    #[serde(rename = "contains")]
    Contains,
}

/// A number or a text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Operand {
    Whole(i64),
    Float(f64),
    Text(String),
}

impl Operand {
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// One value to compute.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Aggregate {
    /// What to compute. Sums are exact; a mean is rounded to six decimal places.
    pub(crate) op: Function,
    /// The column; may be left out for `count`, which then counts rows. Empty cells do not count.
    #[serde(default)]
    pub(crate) column: Option<String>,
    /// A second column of numbers: each value is multiplied by it first, such as quantity times price.
    #[serde(default)]
    pub(crate) times: Option<String>,
    /// The name of the result column; such as `sum_price` unless it is given.
    #[serde(default, rename = "as")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Function {
    Count,
    Sum,
    Mean,
    Min,
    Max,
}

impl Function {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

/// One column to sort by.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sort {
    /// The result column.
    pub(crate) column: String,
    /// Largest first.
    #[serde(default)]
    pub(crate) descending: bool,
}

//! What a model gets.

use std::cmp::Ordering;

use hotcell_tool::Failure;
use schemars::JsonSchema;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::cell::Cell;
use crate::request::Sort;
use crate::table::{Row, Table, find};

/// The rows that answer the question.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// One object per row, with a value per column: a number, a text, or null for an empty number.
    rows: Vec<Named>,
    /// Rows of the CSV text for which all conditions held.
    matched: usize,
    /// Rows of the answer before `limit` cut it.
    found: usize,
}

/// A row with the names of its columns, in their order.
#[derive(Debug)]
struct Named(Vec<(String, Cell)>);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, cell) in &self.0 {
            map.serialize_entry(name, cell)?;
        }
        map.end()
    }
}

impl JsonSchema for Named {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Row".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": { "type": ["number", "string", "null"] }
        })
    }
}

/// Sorts by several columns; rows that are equal in all of them keep their order.
pub(crate) fn sort(table: &mut Table, sorts: &[Sort]) -> Result<(), Failure> {
    let keys = sorts
        .iter()
        .enumerate()
        .map(|(index, sort)| {
            Ok((find(&table.columns, &sort.column, &format!("`sort[{index}]`"))?, sort.descending))
        })
        .collect::<Result<Vec<(usize, bool)>, Failure>>()?;
    table.rows.sort_by(|a, b| {
        keys.iter()
            .map(|&(key, descending)| {
                let order = a.cells.get(key).cmp(&b.cells.get(key));
                if descending { order.reverse() } else { order }
            })
            .find(|order| *order != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    });
    Ok(())
}

/// Takes the first rows and the wanted columns.
pub(crate) fn answer(
    table: &Table,
    select: Option<&[String]>,
    limit: usize,
    matched: usize,
) -> Result<Answer, Failure> {
    let all: Vec<String>;
    let wanted = match select {
        Some(names) => names,
        None => {
            all = table.columns.iter().map(|column| column.name.clone()).collect();
            &all
        }
    };
    let mut columns = Vec::with_capacity(wanted.len());
    for (index, name) in wanted.iter().enumerate() {
        let place = format!("`select[{index}]`");
        if wanted.iter().take(index).any(|earlier| earlier == name) {
            return Err(Failure::invalid_input(format!("{place}: column `{name}` is selected twice")));
        }
        columns.push((name, find(&table.columns, name, &place)?));
    }
    let named = |row: &Row| {
        let cell = |key: usize| row.cells.get(key).cloned().unwrap_or(Cell::Empty);
        Named(columns.iter().map(|&(name, key)| (name.clone(), cell(key))).collect())
    };
    Ok(Answer { rows: table.rows.iter().take(limit).map(named).collect(), matched, found: table.rows.len() })
}

//! Which rows to keep.

use std::cmp::Ordering;

use hotcell_tool::Failure;

use crate::cell::Cell;
use crate::decimal::Decimal;
use crate::request::{Filter, Operator};
use crate::table::{Table, find};

/// Keeps the rows for which every condition holds.
pub(crate) fn apply(table: &mut Table, filters: &[Filter]) -> Result<(), Failure> {
    for (index, filter) in filters.iter().enumerate() {
        let condition = Condition::check(table, filter, &format!("`filter[{index}]`"))?;
        table.rows.retain(|row| row.cells.get(condition.column).is_some_and(|cell| condition.holds(cell)));
    }
    Ok(())
}

struct Condition {
    column: usize,
    op: Operator,
    wanted: Cell,
    /// For `contains`: the text in lower case.
    piece: String,
}

impl Condition {
    fn check(table: &Table, filter: &Filter, place: &str) -> Result<Self, Failure> {
        let column = find(&table.columns, &filter.column, place)?;
        let numeric = table.columns.get(column).is_some_and(|column| column.numeric);
        let text = filter.value.to_text();
        let wanted = match Decimal::parse(&text) {
            Some(number) if numeric => Cell::Number(number),
            None if numeric && filter.op != Operator::Contains && !text.is_empty() => {
                return Err(Failure::invalid_input(format!(
                    "{place}: column `{}` holds numbers, and `{text}` is not one",
                    filter.column
                ))
                .advice("compare with a plain decimal number, such as 12 or 12.5"));
            }
            None if numeric => Cell::Empty,
            Some(_) | None => Cell::Text(text.clone()),
        };
        Ok(Self { column, op: filter.op, wanted, piece: text.to_lowercase() })
    }

    /// An empty cell is equal to an empty text, and neither less nor greater than anything.
    fn holds(&self, cell: &Cell) -> bool {
        let either_empty = cell.is_empty() || self.wanted.is_empty();
        let order = cell.cmp(&self.wanted);
        match self.op {
            Operator::Equal => order == Ordering::Equal,
            Operator::NotEqual => order != Ordering::Equal,
            Operator::Less => !either_empty && order == Ordering::Less,
            Operator::LessOrEqual => !either_empty && order != Ordering::Greater,
            Operator::Greater => !either_empty && order == Ordering::Greater,
            Operator::GreaterOrEqual => !either_empty && order != Ordering::Less,
            Operator::Contains => cell.to_text().to_lowercase().contains(&self.piece),
        }
    }
}

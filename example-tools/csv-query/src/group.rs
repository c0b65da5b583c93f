//! Putting rows together and computing over them.

use std::collections::BTreeMap;

use hotcell_tool::Failure;

use crate::cell::Cell;
use crate::decimal::{Decimal, TooLarge};
use crate::request::{Aggregate, Function};
use crate::table::{Column, Row, Table, find};

/// Replaces the rows by one row per group, in the order of the grouped values.
pub(crate) fn apply(table: Table, group_by: &[String], aggregates: &[Aggregate]) -> Result<Table, Failure> {
    let keys = group_by
        .iter()
        .enumerate()
        .map(|(index, name)| find(&table.columns, name, &format!("`group_by[{index}]`")))
        .collect::<Result<Vec<usize>, Failure>>()?;
    let plans = aggregates
        .iter()
        .enumerate()
        .map(|(index, aggregate)| Plan::check(&table, aggregate, format!("`aggregate[{index}]`")))
        .collect::<Result<Vec<Plan>, Failure>>()?;
    let columns = result_columns(&table, &keys, &plans)?;

    let mut groups: BTreeMap<Vec<Cell>, Vec<State>> = BTreeMap::new();
    if keys.is_empty() {
        // Over no rows at all there still is one answer: a count of zero.
        groups.insert(Vec::new(), vec![State::default(); plans.len()]);
    }
    for row in &table.rows {
        let key = keys.iter().filter_map(|key| row.cells.get(*key).cloned()).collect();
        let states = groups.entry(key).or_insert_with(|| vec![State::default(); plans.len()]);
        for (plan, state) in plans.iter().zip(states) {
            plan.add(row, state)?;
        }
    }

    let mut rows = Vec::with_capacity(groups.len());
    for (mut cells, states) in groups {
        for (plan, state) in plans.iter().zip(states) {
            cells.push(plan.finish(state)?);
        }
        rows.push(Row { line: 0, cells });
    }
    Ok(Table { columns, rows })
}

fn result_columns(table: &Table, keys: &[usize], plans: &[Plan]) -> Result<Vec<Column>, Failure> {
    let mut columns: Vec<Column> = keys.iter().filter_map(|key| table.columns.get(*key).cloned()).collect();
    columns.extend(plans.iter().map(|plan| Column { name: plan.name.clone(), numeric: true }));
    for (index, column) in columns.iter().enumerate() {
        if columns.iter().take(index).any(|earlier| earlier.name == column.name) {
            return Err(Failure::invalid_input(format!("two result columns are named `{}`", column.name))
                .advice("give one of them another name with `as`"));
        }
    }
    Ok(columns)
}

/// One aggregate, its columns looked up.
struct Plan {
    place: String,
    name: String,
    function: Function,
    column: Option<usize>,
    times: Option<usize>,
    column_name: String,
}

/// What is known of one group so far.
#[derive(Clone, Default)]
struct State {
    count: u64,
    sum: Option<Decimal>,
    least: Option<Cell>,
    greatest: Option<Cell>,
}

impl Plan {
    fn check(table: &Table, aggregate: &Aggregate, place: String) -> Result<Self, Failure> {
        let function = aggregate.op;
        let look_up =
            |name: &Option<String>| name.as_ref().map(|name| find(&table.columns, name, &place)).transpose();
        let (column, times) = (look_up(&aggregate.column)?, look_up(&aggregate.times)?);
        let column_name = aggregate.column.clone().unwrap_or_default();
        if column.is_none() && (function != Function::Count || times.is_some()) {
            return Err(Failure::invalid_input(format!("{place}: `{}` needs a `column`", function.as_str()))
                .advice("name the column to compute over; `count` alone counts rows"));
        }
        let mut parts = vec![function.as_str()];
        parts.extend(aggregate.column.as_deref());
        parts.extend(aggregate.times.as_deref());
        let name = aggregate.name.clone().unwrap_or_else(|| parts.join("_"));
        Ok(Self { place, name, function, column, times, column_name })
    }

    fn add(&self, row: &Row, state: &mut State) -> Result<(), Failure> {
        let Some(column) = self.column else {
            state.count += 1;
            return Ok(());
        };
        let Some(cell) = row.cells.get(column).filter(|cell| !cell.is_empty()) else { return Ok(()) };
        let cell = match self.times {
            None => cell.clone(),
            Some(times) => {
                let Some(factor) = row.cells.get(times).filter(|cell| !cell.is_empty()) else {
                    return Ok(());
                };
                let product = self.number(cell, row)?.times(self.number(factor, row)?);
                Cell::Number(product.map_err(|TooLarge| self.too_large())?)
            }
        };
        state.count += 1;
        match self.function {
            Function::Count => {}
            Function::Sum | Function::Mean => {
                let sum = state.sum.unwrap_or(Decimal::ZERO).add(self.number(&cell, row)?);
                state.sum = Some(sum.map_err(|TooLarge| self.too_large())?);
            }
            Function::Min => {
                state.least = state.least.take().map(|least| least.min(cell.clone())).or(Some(cell));
            }
            Function::Max => {
                state.greatest =
                    state.greatest.take().map(|greatest| greatest.max(cell.clone())).or(Some(cell));
            }
        }
        Ok(())
    }

    fn number(&self, cell: &Cell, row: &Row) -> Result<Decimal, Failure> {
        match cell {
            Cell::Number(number) => Ok(*number),
            // In a column with other texts in it, single cells may still be numbers.
            Cell::Text(text) => Decimal::parse(text).ok_or_else(|| {
                let (place, column, line) = (&self.place, &self.column_name, row.line);
                Failure::invalid_input(format!(
                    "{place}: cannot compute `{}` of column `{column}`: line {line} holds `{text}`, which is not a number",
                    self.function.as_str(),
                ))
                .code("not_a_number")
                .advice("filter such rows out, or compute over another column")
            }),
            Cell::Empty => Ok(Decimal::ZERO),
        }
    }

    fn finish(&self, state: State) -> Result<Cell, Failure> {
        Ok(match self.function {
            Function::Count => Cell::Number(Decimal::whole(state.count)),
            Function::Sum => Cell::Number(state.sum.unwrap_or(Decimal::ZERO)),
            Function::Mean => match state.sum {
                Some(sum) => Cell::Number(sum.divided_by(state.count).map_err(|TooLarge| self.too_large())?),
                None => Cell::Empty,
            },
            Function::Min => state.least.unwrap_or(Cell::Empty),
            Function::Max => state.greatest.unwrap_or(Cell::Empty),
        })
    }

    fn too_large(&self) -> Failure {
        Failure::invalid_input(format!("{}: the result has more digits than this tool keeps", self.place))
            .code("too_large")
    }
}

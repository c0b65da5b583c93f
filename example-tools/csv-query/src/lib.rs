//! A pure tool that answers questions about a CSV text.
//!
//! The text comes as an argument, so the tool needs no grant: whoever calls it decides what it sees.

mod cell;
mod decimal;
mod filter;
mod group;
mod request;
mod result;
mod table;

use hotcell_tool::{Failure, tool};
use request::Query;
use result::Answer;
use table::Table;

/// Rows returned unless the caller asks for another number.
const DEFAULT_LIMIT: u32 = 100;

/// Most rows to return.
const MAX_LIMIT: u32 = 10_000;

/// Answer a question about a CSV text: filter its rows, group and aggregate them, sort, limit, and select
/// columns.
///
/// Columns whose cells are all plain decimal numbers hold numbers; all others hold text. Sums of decimals
/// are exact. A number with more than 15 digits is returned as text, so that none of them is lost.
#[tool(
    read_only,
    idempotent,
    timeout = "10s",
    example = r#"{"csv": "region,quantity,price\nNorth,2,9.50\nSouth,1,20\nNorth,1,9.50\n", "group_by": ["region"], "aggregate": [{"op": "sum", "column": "quantity", "times": "price", "as": "revenue"}], "sort": [{"column": "revenue", "descending": true}]}"#,
    example = r#"{"csv": "name,age\nAda,36\nAlan,41\n", "filter": [{"column": "age", "op": ">", "value": 40}], "select": ["name"]}"#
)]
fn query(query: Query) -> Result<Answer, Failure> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if limit > MAX_LIMIT {
        return Err(Failure::invalid_input(format!(
            "`limit` is {limit}, at most {MAX_LIMIT} rows are possible"
        ))
        .advice("ask for fewer rows, or group them"));
    }
    let mut table = Table::parse(&query.csv, delimiter(query.delimiter)?)?;
    filter::apply(&mut table, &query.filter)?;
    let matched = table.rows.len();
    if !(query.group_by.is_empty() && query.aggregate.is_empty()) {
        table = group::apply(table, &query.group_by, &query.aggregate)?;
    }
    result::sort(&mut table, &query.sort)?;
    result::answer(&table, query.select.as_deref(), usize::try_from(limit).unwrap_or(usize::MAX), matched)
}

fn delimiter(delimiter: Option<char>) -> Result<u8, Failure> {
    let delimiter = delimiter.unwrap_or(',');
    u8::try_from(delimiter)
        .ok()
        .filter(|byte| byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r'))
        .ok_or_else(|| {
            Failure::invalid_input(format!("`delimiter` is {delimiter:?}, which cannot stand between fields"))
                .advice("use `,`, `;`, `|` or a tab")
        })
}

hotcell_tool::component!(query);

#[cfg(test)]
mod tests;

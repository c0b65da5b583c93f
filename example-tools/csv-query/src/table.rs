//! A CSV text, read into typed columns.

use hotcell_tool::Failure;

use crate::cell::Cell;
use crate::decimal::Decimal;

/// Most rows of a text; a model that sends more gets a clear answer instead of a timeout.
const MAX_ROWS: usize = 200_000;

/// Most columns of a text.
const MAX_COLUMNS: usize = 500;

/// Columns with names, and rows with one cell for each.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Whether every cell that is not empty holds a number.
    pub(crate) numeric: bool,
}

/// One row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The line of the text it starts at, from 1.
    pub(crate) line: u64,
    pub(crate) cells: Vec<Cell>,
}

impl Table {
    /// Reads a text whose first row names the columns.
    pub(crate) fn parse(text: &str, delimiter: u8) -> Result<Self, Failure> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader =
            csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| broken(&error))?.clone();
        let names: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        check_header(&names)?;

        let mut raw: Vec<(u64, Vec<String>)> = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| broken(&error))?;
            let line = record.position().map_or(0, |position| line_of(text, position));
            let row = raw.len() + 1;
            if record.len() != names.len() {
                return Err(Failure::invalid_input(format!(
                    "row {row} (line {line}) has {} fields, the header has {}",
                    record.len(),
                    names.len()
                ))
                .advice(
                    "put fields with a delimiter inside into double quotes, or name another `delimiter`",
                ));
            }
            if row > MAX_ROWS {
                return Err(Failure::invalid_input(format!("the text has more than {MAX_ROWS} rows"))
                    .advice("send a part of it"));
            }
            raw.push((line, record.iter().map(str::to_owned).collect()));
        }
        Ok(Self::typed(names, raw))
    }

    /// A column is numeric when each of its cells is a number or empty, and one is a number.
    fn typed(names: Vec<String>, raw: Vec<(u64, Vec<String>)>) -> Self {
        let columns: Vec<Column> = names
            .into_iter()
            .enumerate()
            .map(|(index, name)| {
                let mut texts =
                    raw.iter().filter_map(|(_, cells)| cells.get(index)).filter(|text| !text.is_empty());
                let mut any = false;
                let numeric = texts.all(|text| {
                    any = true;
                    Decimal::parse(text).is_some()
                });
                Column { name, numeric: numeric && any }
            })
            .collect();
        let rows = raw
            .into_iter()
            .map(|(line, cells)| {
                let cells =
                    cells.into_iter().zip(&columns).map(|(text, column)| Cell::read(text, column.numeric));
                Row { line, cells: cells.collect() }
            })
            .collect();
        Self { columns, rows }
    }
}

/// The line a record starts at; the reader's own position is that of the empty lines before it.
fn line_of(text: &str, position: &csv::Position) -> u64 {
    let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let before = text.as_bytes().get(start..).unwrap_or_default();
    let empty = before.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|byte| **byte == b'\n');
    position.line() + empty.count() as u64
}

fn check_header(names: &[String]) -> Result<(), Failure> {
    if names.iter().all(String::is_empty) {
        return Err(Failure::invalid_input("the text has no header row")
            .advice("send CSV whose first row names the columns"));
    }
    if names.len() > MAX_COLUMNS {
        return Err(Failure::invalid_input(format!(
            "the header has {} columns, at most {MAX_COLUMNS} are possible",
            names.len()
        )));
    }
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Failure::invalid_input(format!("column {} of the header has no name", index + 1)));
        }
        if names.iter().take(index).any(|earlier| earlier == name) {
            return Err(Failure::invalid_input(format!("the header has two columns named `{name}`"))
                .advice("give each column a name of its own"));
        }
    }
    Ok(())
}

fn broken(error: &csv::Error) -> Failure {
    let line = error.position().map_or(String::new(), |position| format!(" at line {}", position.line()));
    Failure::invalid_input(format!("the text is not CSV{line}: {error}"))
}

/// The place of the column with this name.
pub(crate) fn find(columns: &[Column], name: &str, place: &str) -> Result<usize, Failure> {
    columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let known: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        Failure::invalid_input(format!("{place}: there is no column `{name}`"))
            .code("unknown_column")
            .advice(format!("the columns are: {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Table::parse(text, b',').unwrap_err().message
    }

    #[test]
    fn columns_are_numeric_when_all_their_cells_are() {
        let table = Table::parse("\u{feff}id, price ,zip\n1,2.50,01234\n2,,99999\n", b',').unwrap();
        let columns: Vec<_> = table.columns.iter().map(|c| (c.name.as_str(), c.numeric)).collect();
        assert_eq!(columns, [("id", true), ("price", true), ("zip", false)]);
        assert_eq!(table.rows[1].cells[1], Cell::Empty);
        assert_eq!(table.rows[1].cells[2], Cell::Text("99999".into()));
    }

    #[test]
    fn quoted_fields_may_hold_delimiters_and_line_breaks() {
        let table = Table::parse("a;b\n\"x;\n\"\"y\"\"\";2\nz;3\n", b';').unwrap();
        assert_eq!(table.rows[0].cells[0], Cell::Text("x;\n\"y\"".into()));
        assert_eq!(table.rows[1].line, 4);
    }

    #[test]
    fn broken_texts_are_named_by_row_and_line() {
        assert_eq!(error("a,b\n1,2\n\n3\n"), "row 2 (line 4) has 1 fields, the header has 2");
        assert_eq!(error("a,b\r\n1,2\r\n3\r\n"), "row 2 (line 3) has 1 fields, the header has 2");
        assert_eq!(error(""), "the text has no header row");
        assert_eq!(error("a,b,a\n"), "the header has two columns named `a`");
        assert_eq!(error("a,,b\n"), "column 2 of the header has no name");
    }
}

//! Notes in one directory: a tool that needs exactly one grant, and explains itself when it is missing.
//!
//! The host keeps the tool inside of `/notes` whatever it tries. The checks here are for the model: a wrong
//! name gets an answer that says which names are right.

mod name;
mod store;

use hotcell_tool::{Failure, tool};
use name::NoteName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Store;

/// Where the operator grants the directory.
const DIRECTORY: &str = "/notes";

/// Most matches a search returns.
const MAX_MATCHES: u32 = 200;

/// Matches a search returns unless the caller asks for another number.
const DEFAULT_MATCHES: u32 = 20;

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Listing {
    /// The notes, by name.
    notes: Vec<Note>,
    /// Whether there are more notes than a listing shows.
    more: bool,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Note {
    /// The name, as `read` takes it.
    name: String,
    /// Its size.
    bytes: u64,
}

/// List the notes with their sizes.
#[tool(read_only, idempotent, timeout = "5s")]
fn list() -> Result<Listing, Failure> {
    Store::open(DIRECTORY)?.list()
}

/// Read one note.
#[tool(read_only, idempotent, timeout = "5s", example = r#"{"name": "shopping list"}"#)]
fn read(
    /// The name of the note, as `list` shows it.
    name: String,
) -> Result<String, Failure> {
    let name = NoteName::parse(name)?;
    Store::open(DIRECTORY)?.read(&name)
}

/// What to do when there is a note of this name already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Fail, and change nothing.
    #[default]
    Create,
    /// Replace it.
    Replace,
    /// Write the text behind it.
    Append,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Written {
    /// The name of the note.
    name: String,
    /// Its size now.
    bytes: u64,
    /// Whether it is new.
    created: bool,
}

/// Write a note: create a new one, replace one, or append to one. A note has at most 64 KiB.
#[tool(destructive, timeout = "5s", example = r#"{"name": "shopping list", "text": "- tea\n"}"#)]
fn write(
    /// The name: up to 100 letters, digits, spaces, `-`, `_` and `.`.
    name: String,
    /// The text.
    text: String,
    /// `create` (which fails when the note exists) unless it is given, `replace` or `append`.
    mode: Option<Mode>,
) -> Result<Written, Failure> {
    let name = NoteName::parse(name)?;
    Store::open(DIRECTORY)?.write(&name, &text, mode.unwrap_or_default())
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Matches {
    /// The lines that were found, by note and line.
    matches: Vec<Match>,
    /// Whether there are more.
    more: bool,
    /// Files that were left out because they are too large or not text.
    skipped: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Match {
    /// The name of the note.
    note: String,
    /// The line in it, from 1.
    line: usize,
    /// The line, at most 300 characters of it.
    text: String,
}

/// Search all notes for a piece of text, ignoring upper and lower case.
#[tool(read_only, idempotent, timeout = "10s", example = r#"{"text": "invoice"}"#)]
fn search(
    /// The text to look for.
    text: String,
    /// Most lines to return; 20 unless it is given, at most 200.
    limit: Option<u32>,
) -> Result<Matches, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::invalid_input("`text` is empty").advice("send a piece of text, or call `list`"));
    }
    let limit = limit.unwrap_or(DEFAULT_MATCHES);
    if limit > MAX_MATCHES {
        return Err(Failure::invalid_input(format!(
            "`limit` is {limit}, at most {MAX_MATCHES} are possible"
        )));
    }
    Store::open(DIRECTORY)?.search(&text, usize::try_from(limit).unwrap_or(usize::MAX))
}

hotcell_tool::component!(list, read, write, search);

#[cfg(test)]
mod tests;

//! The schema the answer has to fit, from a file.

use std::io::Read as _;
use std::path::Path;

use hotcell::open_regular_file;
use serde_json::Value;

use crate::ending::Complaint;

/// Bytes of a schema file.
const MAX_BYTES: u64 = 1 << 20;

/// Reads the schema; whether it is one that can be used is checked when the run starts.
pub(super) fn load(path: Option<&Path>) -> Result<Option<Value>, Complaint> {
    let Some(path) = path else { return Ok(None) };
    let shown = path.display();
    let mut text = String::new();
    let read = open_regular_file(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| {
        Complaint::usage(format!("the output schema `{shown}` cannot be read")).because(error)
    })?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
        return Err(Complaint::usage(format!("the output schema `{shown}` has more than 1 MiB")));
    }
    serde_json::from_str(&text).map(Some).map_err(|error| {
        Complaint::usage(format!("the output schema `{shown}` is not JSON"))
            .because(error)
            .help("write a JSON Schema of draft 2020-12, such as {\"type\": \"object\"}")
    })
}

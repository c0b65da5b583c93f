//! Where a component comes from: a file, or the inside of this binary.

use std::path::Path;

use hotcell::{Component, Sandbox};

use crate::embedded;
use crate::ending::Complaint;

/// Loads the file, or the component inside of this binary that has this name when there is no such file.
pub(crate) async fn load(sandbox: &Sandbox, file: &Path) -> Result<Component, Complaint> {
    match file.to_str().filter(|_| !file.exists()).and_then(embedded::find) {
        Some((name, bytes)) => Ok(sandbox.load_bytes(name, bytes).await?),
        None => sandbox.load(file).await.map_err(|error| explain_missing(file, error.into())),
    }
}

/// The bytes of the file, or of the component inside of this binary.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Complaint> {
    match file.to_str().filter(|_| !file.exists()).and_then(embedded::find) {
        Some((_, bytes)) => Ok(bytes.to_vec()),
        None => hotcell::read_component(file).map_err(|error| explain_missing(file, error.into())),
    }
}

fn explain_missing(file: &Path, complaint: Complaint) -> Complaint {
    if file.exists() {
        return complaint;
    }
    let names = embedded::names();
    if names.is_empty() {
        complaint.help("name a `.wasm` file; `hotcell tool build` makes one from a project")
    } else {
        complaint
            .help(format!("name a `.wasm` file, or a component inside of this binary: {}", names.join(", ")))
    }
}

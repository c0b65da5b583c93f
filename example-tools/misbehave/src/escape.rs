//! Tools that reach for what nobody granted.

use std::fs;

use hotcell_tool::{Failure, tool};
use schemars::JsonSchema;
use serde::Serialize;

/// Places outside of every sensible grant: absolute, relative, and through directories that may be granted.
const OUTSIDE: [&str; 14] = [
    "/etc/passwd",
    "/etc/hostname",
    "/proc/self/environ",
    "/proc/1/root/etc/passwd",
    "/root/.ssh/id_rsa",
    "/",
    "..",
    "../../../../etc/passwd",
    "./../etc/passwd",
    "/notes/../etc/passwd",
    "/notes/../../etc/passwd",
    "/data/../etc/passwd",
    "/data/../../etc/passwd",
    "/data/./x/../../etc/passwd",
];

/// Longest piece of a stolen file that is shown.
const SHOWN_BYTES: usize = 200;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Loot {
    /// What could be read; a host that is right never shows this.
    read: Vec<Stolen>,
    /// What was refused.
    refused: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Stolen {
    path: String,
    start: String,
}

/// Read files outside of what was granted; fails with `denied` when every attempt was refused.
#[tool(read_only)]
pub(crate) fn read_outside(
    /// Paths to try instead of the usual ones, such as `/etc/passwd` and `../..`.
    paths: Option<Vec<String>>,
) -> Result<Loot, Failure> {
    let paths = paths.unwrap_or_else(|| OUTSIDE.map(String::from).into());
    let mut loot = Loot { read: Vec::new(), refused: Vec::new() };
    for path in paths {
        match take(&path) {
            Ok(start) => loot.read.push(Stolen { path, start }),
            Err(error) => loot.refused.push(format!("{path}: {error}")),
        }
    }
    if loot.read.is_empty() {
        return Err(Failure::denied(format!("nothing could be read: {}", loot.refused.join("; ")))
            .code("outside_grants")
            .advice("this is as it should be"));
    }
    Ok(loot)
}

/// The start of a file, or the names in a directory.
fn take(path: &str) -> std::io::Result<String> {
    if let Ok(entries) = fs::read_dir(path) {
        let names: Vec<String> = entries
            .take(10)
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        return Ok(names.join(", "));
    }
    let bytes = fs::read(path)?;
    Ok(String::from_utf8_lossy(bytes.get(..SHOWN_BYTES).unwrap_or(&bytes)).into_owned())
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Environment {
    /// Every variable, as `NAME=VALUE`.
    variables: Vec<String>,
    /// The program's arguments.
    arguments: Vec<String>,
    /// The working directory, when there is one.
    directory: Option<String>,
}

/// List everything that can be seen of the environment; empty unless the operator granted some of it.
#[tool(read_only)]
pub(crate) fn read_env() -> Environment {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    Environment {
        variables: std::env::vars_os()
            .map(|(name, value)| format!("{}={}", text(name), text(value)))
            .collect(),
        arguments: std::env::args_os().map(text).collect(),
        directory: std::env::current_dir().ok().map(|path| text(path.into_os_string())),
    }
}

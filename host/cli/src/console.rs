//! Standard output and standard error. A reader that went away is no error.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal as _, Write};

use hotcell::text::{escape_keeping_lines, steers};
use serde::Serialize;

use crate::ending::{Complaint, Exit, causes};

/// Writes text to standard output as it is.
pub(crate) fn print(text: impl fmt::Display) -> anyhow::Result<()> {
    tolerate_closed(write_all(&mut io::stdout().lock(), &text))
}

/// Writes text of a guest or a model to standard output, with a line feed at its end and nothing in
/// it that could steer a terminal.
pub(crate) fn print_foreign(text: &str) -> anyhow::Result<()> {
    let escaped = escape_keeping_lines(text);
    let end = if escaped.ends_with('\n') { "" } else { "\n" };
    print(format_args!("{escaped}{end}"))
}

/// Writes one JSON value to standard output: readable on a terminal, on one line elsewhere.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = if io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)?
    } else {
        serde_json::to_string(value)?
    };
    print(format_args!("{}\n", escape_json(text)))
}

/// Escapes what JSON leaves as it is and a terminal would obey; the value stays the same.
fn escape_json(text: String) -> String {
    // Outside of strings JSON has no such characters, except for the line feeds of the readable form.
    let obeyed = |c: char| c != '\n' && steers(c);
    if !text.contains(obeyed) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if obeyed(c) {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
        out
    })
}

/// Writes one line to standard error, for the person who watches. That it cannot be written changes nothing.
pub(crate) fn note(text: impl fmt::Display) {
    match write_all(&mut io::stderr().lock(), &format_args!("{text}\n")) {
        // Nobody reads; the outcome is in the exit code.
        Ok(()) | Err(_) => {}
    }
}

/// Writes text to standard error without a line feed.
pub(crate) fn note_part(text: impl fmt::Display) {
    match write_all(&mut io::stderr().lock(), &text) {
        Ok(()) | Err(_) => {}
    }
}

fn write_all(to: &mut impl Write, text: &impl fmt::Display) -> io::Result<()> {
    write!(to, "{text}")?;
    to.flush()
}

fn tolerate_closed(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Shows an error on standard error, and with `json` also as an object on standard output; says how to end.
pub(crate) fn complain(error: &anyhow::Error, json: bool) -> Exit {
    let complaint = error.downcast_ref::<Complaint>();
    let causes = causes(error.chain());
    let shown: Vec<_> = causes.iter().map(|cause| escape_keeping_lines(cause)).collect();
    let mut text = format!("error: {}", shown.join("\n  because: "));
    for help in complaint.into_iter().flat_map(|complaint| &complaint.help) {
        text.push_str("\n  help: ");
        text.push_str(&escape_keeping_lines(help).replace('\n', "\n        "));
    }
    note(text);
    let exit = complaint.map_or(Exit::Failed, |complaint| complaint.exit);
    if json {
        let code = complaint.map_or("internal", |complaint| complaint.code);
        let help = complaint.map(|complaint| complaint.help.join("\n")).filter(|help| !help.is_empty());
        print_error(code, &causes.join(": "), help.as_deref());
    }
    exit
}

/// Writes an error to standard output as a JSON object.
pub(crate) fn print_error(code: &str, message: &str, help: Option<&str>) {
    let object = serde_json::json!({ "error": { "code": code, "message": message, "help": help } });
    if let Err(error) = print_json(&object) {
        note(format_args!("error: standard output cannot be written\n  because: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_terminal_keeps_its_value_and_loses_its_power() {
        let value = serde_json::json!({"a": "\u{9b}2J \u{202e} \u{e0041} ü"});
        let text = escape_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|c| c != '\n' && steers(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.contains('ü'));
    }
}

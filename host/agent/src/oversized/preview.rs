//! The part of a large result that is shown at once.

use std::fmt::Write as _;

use hotcell_core::text::cap_chars;
use serde_json::{Map, Value};

use super::note::Shown;
use super::records::Records;
use crate::shape::thousands;

/// A text of more lines shows its start and its end.
const FEW_LINES: usize = 40;

/// Lines shown of the start, and of the end, of a text of many lines.
const EDGE_LINES: usize = 20;

/// Words below which a piece of text is taken for navigation of a page, not for a sentence.
const SENTENCE_WORDS: usize = 6;

/// Longest part of a record's line.
const PART_CHARS: usize = 160;

/// Fields a record may say its name, its link and its text in, the best first.
const LABELS: [&str; 5] = ["title", "name", "id", "key", "path"];
const LINKS: [&str; 4] = ["url", "link", "href", "uri"];
const SOURCE: &str = "source";
const TEXTS: [&str; 7] = ["content", "text", "snippet", "summary", "description", "body", "message"];

/// What is shown of a text.
pub(super) struct Preview {
    pub(super) text: String,
    pub(super) shown: Shown,
    /// The first character that is not shown.
    pub(super) continue_at: usize,
}

/// A preview of at most `room` characters: a line for each record, the start, or the start and the end.
pub(super) fn of(whole: &str, good: bool, room: usize) -> Preview {
    if good && let Some(preview) = Records::read(whole).and_then(|records| of_records(&records, room)) {
        return preview;
    }
    if whole.lines().nth(FEW_LINES).is_none() { start(whole, room) } else { edges(whole, room) }
}

fn start(whole: &str, room: usize) -> Preview {
    let text = cap_chars(whole, room);
    let shown = Shown::of(&text);
    Preview { continue_at: shown.chars, text, shown }
}

/// The first and the last lines; every line is cut to its share, so that both edges are there.
fn edges(whole: &str, room: usize) -> Preview {
    let lines: Vec<&str> = whole.split('\n').collect();
    let middle = lines.len().saturating_sub(2 * EDGE_LINES);
    let gap = format!("[... {} lines ...]", thousands(middle));
    // Each line takes its line feed with it.
    let share = (room.saturating_sub(gap.len()) / (2 * EDGE_LINES)).saturating_sub(1);
    if middle == 0 || share < PART_CHARS / 4 {
        return start(whole, room);
    }
    let head: Vec<String> = lines.iter().take(EDGE_LINES).map(|line| cap_chars(line, share)).collect();
    let tail: Vec<String> =
        lines.iter().skip(lines.len() - EDGE_LINES).map(|line| cap_chars(line, share)).collect();
    let mut continue_at = 0;
    for (line, cut) in lines.iter().zip(&head) {
        continue_at += cut.chars().count();
        if cut.len() < line.len() {
            break;
        }
        continue_at += 1;
    }
    let chars = head.iter().chain(&tail).map(|line| line.chars().count() + 1).sum::<usize>() - 1;
    let text = format!("{}\n{gap}\n{}", head.join("\n"), tail.join("\n"));
    Preview { text, shown: Shown { chars, lines: 2 * EDGE_LINES }, continue_at }
}

/// A line for each record, as many as there is room for.
fn of_records(records: &Records, room: usize) -> Option<Preview> {
    let lines: Vec<String> =
        (1_usize..).zip(records.iter()).map(|(number, record)| line_of(number, record)).collect();
    let more = |left: usize| format!("[... {} more records]", thousands(left));
    let mut left = room.checked_sub(more(lines.len()).len())?;
    let mut text = String::new();
    let mut taken = 0;
    for line in &lines {
        let Some(rest) = left.checked_sub(line.chars().count() + 1) else { break };
        left = rest;
        taken += 1;
        text.push_str(line);
        text.push('\n');
    }
    if taken == 0 {
        return None;
    }
    if taken < lines.len() {
        text.push_str(&more(lines.len() - taken));
    } else {
        text.pop();
    }
    // The lines are made from the result, so reading begins at its start.
    Some(Preview { shown: Shown::of(&text), text, continue_at: 0 })
}

fn line_of(number: usize, record: &Map<String, Value>) -> String {
    let first = |names: &[&str]| names.iter().find_map(|name| record.get(*name).and_then(plain));
    let mut line = format!("{number}.");
    let label = first(&LABELS);
    // A source may be a link or the name of who said it; as a link it comes last.
    let link = first(&LINKS).or_else(|| first(&[SOURCE]));
    let text = first(&TEXTS).and_then(|text| sentence(&text));
    for part in [label, link, text].into_iter().flatten() {
        let words = part.split_whitespace().collect::<Vec<_>>().join(" ");
        let separator = if line.ends_with('.') && line.len() < 8 { " " } else { " | " };
        // Writing to a text cannot fail.
        write!(line, "{separator}{}", cap_chars(&words, PART_CHARS)).unwrap_or_default();
    }
    line
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The first piece that is long enough to be a sentence and not a menu.
fn sentence(text: &str) -> Option<String> {
    let pieces = text.split_inclusive(['\n', '.', '!', '?']);
    let long = |piece: &&str| {
        piece.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
    };
    pieces.map(str::trim).find(|piece| long(piece) >= SENTENCE_WORDS).map(str::to_owned)
}

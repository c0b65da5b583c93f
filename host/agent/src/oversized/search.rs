//! Passages of a kept result that match a pattern.
//!
//! Patterns are written by a model, so matching takes time linear in the text whatever the pattern, and the text
//! is searched in pieces, because looking for one match after another is not linear in a whole text.

use hotcell_core::results::ResultHandle;
use regex::{Regex, RegexBuilder};

use super::window::{Asked, Place, nothing_there, start};
use crate::shape::thousands;

/// Longest pattern, in characters.
pub(super) const MAX_PATTERN_CHARS: usize = 1_000;

/// Bytes a compiled pattern may take, and its cache of states as well; a larger one is taken literally.
const PATTERN_BYTES: usize = 1 << 20;

/// Most matches of one read.
const MAX_MATCHES: usize = 500;

/// Characters shown on each side of a match.
const CONTEXT_CHARS: usize = 200;

/// Bytes one read searches; it says where to go on.
const MAX_SEARCHED: usize = 4 << 20;

/// Bytes of one piece, and by how much pieces overlap: a match longer than that may be missed at an edge.
const PIECE: usize = 64 << 10;
const OVERLAP: usize = 4 << 10;

/// Passages around the matches, at most `max_chars` characters with what is said about them.
///
/// # Errors
/// There is nothing at the place asked for.
pub(super) fn read(
    text: &str,
    handle: &ResultHandle,
    asked: &Asked,
    pattern: &str,
    max_chars: usize,
) -> Result<String, String> {
    let whole = Place::default().advance(text, text.len());
    let from = start(text, asked).ok_or_else(|| nothing_there(whole))?;
    let (regex, literal) = compile(pattern);
    let found = find(&regex, text, from.byte);
    let room = if asked.max_chars == 0 { max_chars } else { max_chars.min(asked.max_chars) };
    Ok(Report { text, handle, literal, whole, from, found }.text(room))
}

/// The pattern without regard to case, and whether it was no pattern and is taken as it stands.
fn compile(pattern: &str) -> (Regex, bool) {
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .case_insensitive(true)
            .multi_line(true)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build()
    };
    match build(pattern) {
        Ok(regex) => (regex, false),
        Err(_not_a_pattern) => {
            let regex = build(&regex::escape(pattern));
            (regex.expect("a thousand characters taken literally are a pattern within the limit"), true)
        }
    }
}

/// Matches by their bytes, in order, and where the search stopped.
struct Found {
    matches: Vec<(usize, usize)>,
    until: usize,
}

fn find(regex: &Regex, text: &str, from: usize) -> Found {
    let end = boundary(text, from.saturating_add(MAX_SEARCHED));
    let mut matches = Vec::new();
    let (mut piece_start, mut at) = (from, from);
    while at < end {
        let piece_end = piece_end(text, piece_start, end);
        let Some(piece) = text.get(..piece_end) else { break };
        while let Some(found) = regex.find_at(piece, at.min(piece_end)) {
            // What begins near a cut is looked at again with what follows the cut.
            if piece_end < end && found.start() + OVERLAP > piece_end {
                break;
            }
            if !found.is_empty() {
                matches.push((found.start(), found.end()));
            }
            if matches.len() == MAX_MATCHES {
                return Found { until: found.end(), matches };
            }
            at = if found.is_empty() { next_char(text, found.end()) } else { found.end() };
            if at >= piece_end {
                break;
            }
        }
        if piece_end == end {
            break;
        }
        piece_start = boundary(text, piece_end.saturating_sub(OVERLAP));
        at = at.max(piece_start);
    }
    Found { matches, until: end }
}

/// The end of a piece: behind a line feed when one is near, so that lines stay whole.
fn piece_end(text: &str, start: usize, end: usize) -> usize {
    let most = boundary(text, start.saturating_add(PIECE)).min(end);
    if most == end {
        return end;
    }
    let half = boundary(text, start.saturating_add(PIECE / 2));
    text.get(half..most).and_then(|tail| tail.rfind('\n')).map_or(most, |at| half + at + 1)
}

/// The next start of a character at or behind this byte.
fn boundary(text: &str, mut byte: usize) -> usize {
    if byte >= text.len() {
        return text.len();
    }
    while !text.is_char_boundary(byte) {
        byte += 1;
    }
    byte
}

fn next_char(text: &str, byte: usize) -> usize {
    boundary(text, byte.saturating_add(1))
}

struct Report<'a> {
    text: &'a str,
    handle: &'a ResultHandle,
    literal: bool,
    whole: Place,
    from: Place,
    found: Found,
}

impl Report<'_> {
    fn text(&self, max_chars: usize) -> String {
        let passages = self.passages(max_chars);
        let head_room = self.head(self.whole.char, MAX_MATCHES).chars().count() + 1;
        // A limit that leaves no third to the passages gets them alone.
        let with_head = head_room.saturating_mul(3) <= max_chars.saturating_mul(2);
        let mut left = if with_head { max_chars - head_room } else { max_chars };
        let mut shown = String::new();
        let mut continue_at = (self.found.until < self.text.len()).then_some(self.found.until);
        let mut place = self.from;
        for (number, (begin, end, first)) in passages.iter().enumerate() {
            place = place.advance(self.text, *first);
            let label = self.label(place, number == 0);
            let passage = self.text.get(*begin..*end).unwrap_or_default();
            let length = label.chars().count() + passage.chars().count();
            if let Some(rest) = left.checked_sub(length) {
                left = rest;
                shown.push_str(&label);
                shown.push_str(passage);
                continue;
            }
            continue_at = Some(*first);
            if number == 0 {
                let kept: String = label
                    .chars()
                    .chain(self.text.get(*first..*end).unwrap_or_default().chars())
                    .take(left)
                    .collect();
                shown = kept;
                continue_at = Some(next_char(self.text, *first));
            }
            break;
        }
        if !with_head {
            return shown;
        }
        let go_on = continue_at.map(|byte| self.from.advance(self.text, byte.max(self.from.byte)).char);
        let head = match go_on {
            Some(char) => self.head(char, self.found.matches.len()),
            None => self.last_head(self.found.matches.len()),
        };
        format!("{head}\n{shown}")
    }

    fn head(&self, continue_at: usize, matches: usize) -> String {
        let handle = self.handle;
        format!(
            r#"[{} matches{}; for more, the same call with "result_id":"{handle}","char_offset":{continue_at}]"#,
            thousands(matches),
            self.how()
        )
    }

    fn last_head(&self, matches: usize) -> String {
        format!("[{} matches{}, to the end of the result]", thousands(matches), self.how())
    }

    fn how(&self) -> &'static str {
        if self.literal { " of the text as it stands, which is no pattern" } else { "" }
    }

    /// Where a passage's first match is.
    fn label(&self, place: Place, first: bool) -> String {
        let gap = if first { "" } else { "\n" };
        if self.whole.line == 0 {
            return format!("{gap}character {}:\n", thousands(place.char));
        }
        format!("{gap}line {}, character {}:\n", thousands(place.line), thousands(place.char))
    }

    /// Matches with what stands around them; passages that touch are one. Each has its first match.
    fn passages(&self, max_chars: usize) -> Vec<(usize, usize, usize)> {
        let context = CONTEXT_CHARS.min(max_chars / 4);
        let mut passages: Vec<(usize, usize, usize)> = Vec::new();
        for (begin, end) in &self.found.matches {
            let around = (back(self.text, *begin, context), forward(self.text, *end, context));
            match passages.last_mut() {
                Some(last) if around.0 <= last.1 => last.1 = last.1.max(around.1),
                _ => passages.push((around.0, around.1, *begin)),
            }
        }
        passages
    }
}

fn back(text: &str, byte: usize, chars: usize) -> usize {
    let before = text.get(..byte).unwrap_or_default();
    before.char_indices().rev().take(chars).last().map_or(byte, |(at, _)| at)
}

fn forward(text: &str, byte: usize, chars: usize) -> usize {
    let after = text.get(byte..).unwrap_or_default();
    after.char_indices().nth(chars).map_or(text.len(), |(at, _)| byte + at)
}

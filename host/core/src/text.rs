//! Bounds and escapes for text that came from a guest or a model.

/// Replaces control characters by visible escapes, so that the text cannot steer a terminal.
///
/// Line feeds and tabs stay as they are only in [`escape_keeping_lines`].
#[must_use]
pub fn escape_control(text: &str) -> String {
    escape(text, |_| false)
}

/// Like [`escape_control`], but keeps line feeds and tabs.
#[must_use]
pub fn escape_keeping_lines(text: &str) -> String {
    escape(text, |c| matches!(c, '\n' | '\t'))
}

fn escape(text: &str, keep: impl Fn(char) -> bool) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if !keep(c) && steers(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    })
}

/// Whether a terminal or a reader's eye can be misled by the character:
/// controls, bidirectional overrides, zero-width and tag characters.
#[must_use]
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The first `limit` characters (code points), whole characters only.
#[must_use]
pub fn cap_chars(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

/// The longest prefix of at most `limit` bytes that ends between characters.
#[must_use]
pub fn cap_bytes(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The longest suffix of at most `limit` bytes that starts between characters.
#[must_use]
pub fn tail_bytes(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut start = text.len() - limit;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_leave_nothing_that_steers_a_terminal() {
        assert_eq!(escape_control("a\x1b[31mb\u{202e}"), "a\\u{1b}[31mb\\u{202e}");
        assert_eq!(escape_control("a\nb"), "a\\u{a}b");
        assert_eq!(escape_keeping_lines("a\n\tb\r"), "a\n\tb\\u{d}");
    }

    #[test]
    fn caps_never_split_a_character() {
        assert_eq!(cap_bytes("aé", 2), "a");
        assert_eq!(cap_bytes("aé", 3), "aé");
        assert_eq!(tail_bytes("éa", 2), "a");
        assert_eq!(cap_chars("ééé", 2), "éé");
    }
}

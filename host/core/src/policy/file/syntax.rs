//! Size, depth and syntax of the TOML text.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use super::MAX_POLICY_BYTES;
use super::problem::{Problem, Problems, quote};

/// Most parts of one dotted key.
///
/// A key of a million parts makes a million nested tables, and dropping them overflows the stack;
/// the TOML parser bounds brackets but not keys. The policy itself needs five parts.
const MAX_KEY_PARTS: usize = 16;

/// Refuses texts that are too long or have dotted keys that are too deep.
///
/// The error is how much of the text is worth counting lines in.
pub(super) fn check_size_and_depth(text: &str, problems: &mut Problems) -> Result<(), usize> {
    if text.len() > MAX_POLICY_BYTES {
        problems.push_syntax(
            0,
            Problem::new(
                "",
                &format!("at most {MAX_POLICY_BYTES} bytes"),
                format!("{} bytes", text.len()),
                "check that this is the policy file; if it is, split it",
            ),
        );
        return Err(0);
    }
    let mut parts = 1;
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => parts += 1,
            TokenKind::Whitespace | TokenKind::Atom | TokenKind::LiteralString | TokenKind::BasicString => {}
            _ => parts = 1,
        }
        if parts > MAX_KEY_PARTS {
            let at = token.span().start();
            problems.push_syntax(
                at,
                Problem::new(
                    "",
                    &format!("keys of at most {MAX_KEY_PARTS} parts"),
                    "a longer one".into(),
                    "a policy needs five parts, such as `components.notes.tools.write.permission`",
                ),
            );
            return Err(text.len());
        }
    }
    Ok(())
}

/// Reports one error of the TOML parser.
pub(super) fn report(error: &toml::de::Error, problems: &mut Problems) {
    let at = error.span().map_or(0, |span| span.start);
    let (found, expected) = match error.message().split_once(", expected ") {
        Some((found, expected)) => (found, expected),
        None => (error.message(), "valid TOML"),
    };
    let help = match found {
        "duplicate key" => "each key and table may be written once; put both into one place",
        "string values must be quoted" => "put the text in double quotes",
        _ => "see the syntax at https://toml.io",
    };
    problems.push_syntax(at, Problem::new("", &quote(expected), quote(found), help));
}

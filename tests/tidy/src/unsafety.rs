//! `unsafe` is rare, listed and explained.

use crate::tokens::{Kind, Source, Token, matches_at};

/// A file that may hold `unsafe`, and the decision note that says why it must.
#[derive(Debug)]
pub struct Exception {
    /// The file.
    pub path: &'static str,
    /// The decision note.
    pub note: &'static str,
}

/// All files with `unsafe`.
pub const EXCEPTIONS: &[Exception] = &[
    Exception { path: "example-tools/misbehave/src/lie.rs", note: NOTE },
    Exception { path: "host/compiler/src/cache.rs", note: NOTE },
    Exception { path: "host/compiler/src/cache/tests.rs", note: NOTE },
    Exception { path: "host/compiler/src/engine/tests.rs", note: NOTE },
    Exception { path: "host/compiler/src/compile.rs", note: NOTE },
    Exception { path: "host/compiler/src/walls/unsafe_calls.rs", note: WALLS },
    Exception { path: "host/compiler/tests/walls/attack.rs", note: WALLS },
    Exception { path: "host/core/src/artifact.rs", note: NOTE },
    Exception { path: "host/sandbox/src/component.rs", note: NOTE },
];

const NOTE: &str = "docs/decisions/0002-where-unsafe-is-allowed.md";

const WALLS: &str = "docs/decisions/0006-walls-around-the-compiler.md";

/// How many lines above `unsafe` its comment may start.
const REACH: usize = 12;

/// Each use of `unsafe` in a file that is not listed or without a `// SAFETY:` comment,
/// and each listed file that has none any more.
#[must_use]
pub fn violations(sources: &[Source], exceptions: &[Exception]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let uses = uses(&source.tokens);
        let listed = exceptions.iter().any(|exception| exception.path == source.path);
        for (line, needs_comment) in &uses {
            if !listed {
                found.push(format!(
                    "{}:{line}: `unsafe` needs a decision note and a line in tests/tidy/src/unsafety.rs",
                    source.path
                ));
            }
            if *needs_comment && !is_explained(&source.text, *line) {
                found.push(format!("{}:{line}: `unsafe` needs a `// SAFETY:` comment above it", source.path));
            }
        }
    }
    for Exception { path, .. } in exceptions {
        if !sources.iter().any(|source| source.path == *path && !uses(&source.tokens).is_empty()) {
            found.push(format!("{path}: listed in tests/tidy/src/unsafety.rs and has no `unsafe`"));
        }
    }
    found
}

/// The line of each `unsafe`, and whether it is a block or an implementation, which promise something.
fn uses(tokens: &[Token]) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_word("unsafe")) {
        let promises = matches_at(tokens, at + 1, &["impl"])
            || tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Open('{'));
        found.push((token.line, promises));
    }
    found
}

/// Whether a comment with `SAFETY:` ends right above the statement that holds the line.
fn is_explained(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let mut above = lines.iter().rev().take(REACH);
    if above.next().is_some_and(|own| own.contains("// SAFETY:")) {
        return true;
    }
    for above in above.map(|line| line.trim()) {
        if above.starts_with("//") {
            if above.contains("SAFETY:") {
                return true;
            }
        } else if above.ends_with([';', '}', '{']) || above.is_empty() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &[Exception] = &[Exception { path: "host/a/src/x.rs", note: "docs/decisions/0009-x.md" }];

    fn check(text: &str, expected: &[&str]) {
        let source = Source::parse("host/a/src/x.rs", text).unwrap();
        assert_eq!(violations(&[source], LISTED), expected, "{text}");
    }

    #[test]
    fn an_explained_block_in_a_listed_file_is_accepted() {
        check("// SAFETY: the bytes were verified.\nunsafe { f() }", &[]);
        check(
            "// SAFETY: the bytes\n// were verified.\n#[expect(unsafe_code)]\nlet x = unsafe { f() };",
            &[],
        );
        check("// SAFETY: no threads.\nlet x =\n    g(unsafe { f() });", &[]);
        check("unsafe fn f() {}", &[]);
    }

    #[test]
    fn a_block_or_implementation_without_its_reason_is_found() {
        let expected = "host/a/src/x.rs:2: `unsafe` needs a `// SAFETY:` comment above it";
        check("// fast\nunsafe { f() }", &[expected]);
        check("// SAFETY: of the line below only.\ng(); unsafe impl Send for X {}", &[]);
        check("fn f() {\nunsafe { f() } }", &[expected]);
        let expected = "host/a/src/x.rs:3: `unsafe` needs a `// SAFETY:` comment above it";
        check("// SAFETY: of another statement.\ng();\nunsafe impl Send for X {}", &[expected]);
    }

    #[test]
    fn unsafe_in_a_file_that_is_not_listed_is_found() {
        let source = Source::parse("host/b/src/y.rs", "// SAFETY: sure.\nunsafe { f() }").unwrap();
        let expected =
            "host/b/src/y.rs:2: `unsafe` needs a decision note and a line in tests/tidy/src/unsafety.rs";
        assert_eq!(violations(&[source], &[]), [expected]);
    }

    #[test]
    fn a_listed_file_without_unsafe_is_found() {
        check(
            "fn f() { log(\"unsafe\") } // unsafe",
            &["host/a/src/x.rs: listed in tests/tidy/src/unsafety.rs and has no `unsafe`"],
        );
    }
}

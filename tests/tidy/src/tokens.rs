//! Rust sources as a flat list of tokens: comments and texts cannot be mistaken for code,
//! and the inside of macro calls is seen like all other code.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// The line it starts on, from 1.
    pub line: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword, without `r#`.
    Word(String),
    /// One sign, such as `.` or `:`.
    Sign(char),
    /// A literal; also the text of a doc comment.
    Literal(String),
    /// The start of a group: `(`, `[`, `{`.
    Open(char),
    /// The end of a group, named by its start: `(`, `[`, `{`.
    Close(char),
}

/// A Rust file.
#[derive(Debug)]
pub struct Source {
    /// The path from the root of the checkout.
    pub path: String,
    /// The text.
    pub text: String,
    /// All tokens.
    pub tokens: Vec<Token>,
}

impl Source {
    /// Reads the text of a Rust file.
    ///
    /// # Errors
    /// The text has no valid tokens or unbalanced brackets.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let stream = TokenStream::from_str(text).map_err(|error| {
            let start = error.span().start();
            anyhow!("{path}:{}: not Rust: {error}", start.line)
        })?;
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        Ok(Self { path: path.to_owned(), text: text.to_owned(), tokens })
    }

    /// Whether the whole file is test code: `tests.rs`, or a file in a folder `tests`.
    #[must_use]
    pub fn is_test(&self) -> bool {
        let mut parts = self.path.rsplit('/');
        parts.next() == Some("tests.rs") || parts.any(|folder| folder == "tests")
    }

    /// The tokens that are compiled outside of tests: items under `#[cfg(test)]` are left out.
    #[must_use]
    pub fn shipped(&self) -> Vec<Token> {
        if self.is_test() { Vec::new() } else { without_tests(&self.tokens) }
    }

    /// Whether a word occurs as code.
    #[must_use]
    pub fn mentions(&self, word: &str) -> bool {
        self.tokens.iter().any(|token| token.is_word(word))
    }
}

impl Token {
    /// Whether it is this word.
    #[must_use]
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(found) if found == word)
    }

    /// Whether it is this sign.
    #[must_use]
    pub fn is_sign(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    /// The word, when it is one.
    #[must_use]
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            Kind::Sign(_) | Kind::Literal(_) | Kind::Open(_) | Kind::Close(_) => None,
        }
    }
}

/// Whether the tokens from `at` on are these words and signs; names are words, all else single signs.
#[must_use]
pub fn matches_at(tokens: &[Token], at: usize, pattern: &[&str]) -> bool {
    pattern
        .iter()
        .enumerate()
        .all(|(offset, part)| tokens.get(at + offset).is_some_and(|token| is(token, part)))
}

fn is(token: &Token, part: &str) -> bool {
    match &token.kind {
        Kind::Word(word) => word == part,
        Kind::Sign(sign) | Kind::Open(sign) => part.chars().eq([*sign]),
        Kind::Close(open) => part.chars().eq([closing(*open)]),
        Kind::Literal(_) => false,
    }
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// The position after the group that starts at `open`.
#[must_use]
pub fn after_group(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Open(_) => depth += 1,
            Kind::Close(_) => depth = depth.saturating_sub(1),
            Kind::Word(_) | Kind::Sign(_) | Kind::Literal(_) => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// How many arguments the group that starts at `open` has, counted by its commas.
///
/// The commas of a closure's parameters and of generics count too, so the number can be too high, never too low.
#[must_use]
pub fn argument_count(tokens: &[Token], open: usize) -> usize {
    let end = after_group(tokens, open).saturating_sub(1);
    let mut depth = 0_usize;
    let (mut count, mut pending) = (0, false);
    for token in tokens.iter().take(end).skip(open + 1) {
        match token.kind {
            Kind::Open(_) => depth += 1,
            Kind::Close(_) => depth = depth.saturating_sub(1),
            Kind::Word(_) | Kind::Sign(_) | Kind::Literal(_) => {}
        }
        let comma = depth == 0 && token.is_sign(',');
        count += usize::from(comma && pending);
        pending = !comma;
    }
    count + usize::from(pending)
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(word) => {
                let word = word.to_string();
                let word = word.strip_prefix("r#").map(str::to_owned).unwrap_or(word);
                into.push(Token { kind: Kind::Word(word), line });
            }
            TokenTree::Punct(sign) => into.push(Token { kind: Kind::Sign(sign.as_char()), line }),
            TokenTree::Literal(text) => into.push(Token { kind: Kind::Literal(text.to_string()), line }),
            TokenTree::Group(group) => {
                let open = match group.delimiter() {
                    Delimiter::Parenthesis => '(',
                    Delimiter::Bracket => '[',
                    Delimiter::Brace | Delimiter::None => '{',
                };
                into.push(Token { kind: Kind::Open(open), line });
                flatten(group.stream(), into);
                into.push(Token { kind: Kind::Close(open), line: group.span_close().start().line });
            }
        }
    }
}

fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if is_test_attribute(tokens, at) {
            at = after_item(tokens, at);
        } else {
            kept.push(token.clone());
            at += 1;
        }
    }
    kept
}

/// Whether `#[cfg(test)]` or `#[cfg(all(test, ..))]` starts here; `any` and `not` can hold outside of tests.
fn is_test_attribute(tokens: &[Token], at: usize) -> bool {
    if !matches_at(tokens, at, &["#", "[", "cfg", "("]) {
        return false;
    }
    let end = after_group(tokens, at + 3);
    let has = |word: &str| tokens.iter().take(end).skip(at + 4).any(|token| token.is_word(word));
    has("test") && !has("any") && !has("not")
}

/// The position after the item, statement, field or arm that the attribute at `at` belongs to.
fn after_item(tokens: &[Token], mut at: usize) -> usize {
    const ITEMS: [&str; 15] = [
        "pub",
        "mod",
        "fn",
        "impl",
        "struct",
        "enum",
        "trait",
        "use",
        "const",
        "static",
        "type",
        "unsafe",
        "async",
        "extern",
        "macro_rules",
    ];
    while matches_at(tokens, at, &["#", "["]) {
        at = after_group(tokens, at + 1);
    }
    let item = tokens.get(at).and_then(Token::word).is_some_and(|word| ITEMS.contains(&word));
    while let Some(token) = tokens.get(at) {
        match token.kind {
            Kind::Close(_) => return at,
            Kind::Open(open) => {
                at = after_group(tokens, at);
                if item && open == '{' {
                    return at;
                }
            }
            Kind::Sign(';') => return at + 1,
            Kind::Sign(',') if !item => return at + 1,
            Kind::Word(_) | Kind::Sign(_) | Kind::Literal(_) => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests;

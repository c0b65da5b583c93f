//! `Tool::call` is invoked in one place: the door of the loop.
//!
//! There is no type checker here, so the rule is held a little too wide, over the tokens of all
//! code under `host/` that ships (code under `cfg(test)` and files of tests may call a tool directly,
//! because they cannot reach an operator's machine):
//!
//! 1. A method call `.call(a, b, ..)` with two or more arguments. A trait object needs no import of
//!    `Tool`, so imports say nothing. Rooms that know no tools (compiler, sandbox, registry, store)
//!    call other things `call`; there, files are looked at only when they name `Tool`.
//! 2. A path to the method: `Tool::call`, also through a `use .. as`, `<T as Tool>::call`,
//!    `<dyn Tool>::call`, called or passed on as a value.
//! 3. A path through a type or `Self`, with three or more arguments: `HostTool::call(&tool, ctx, arguments)`.
//!
//! Calls of other things with the same shape are listed in [`OTHER_CALLS`], each with its reason.
//! Macro calls are searched like all code. Examples in doc comments are not.

use crate::tokens::{Kind, Source, Token, argument_count, matches_at};

/// Where the one call is.
const DOOR: [&str; 2] = ["host/agent/src/door.rs", "host/agent/src/door/"];

/// Rooms that know nothing of tools.
const WITHOUT_TOOLS: [&str; 4] = ["host/compiler/", "host/sandbox/", "host/registry/", "host/store/"];

/// Method calls of the same shape that call something else: file, receiver, and what it is.
const OTHER_CALLS: &[(&str, &str, &str)] = &[
    ("host/cli/src/demo/heartbeat.rs", "door", "asks the door for the calls that show the host is awake"),
    ("host/cli/src/tool_call.rs", "door", "asks the door for one call without a run"),
];

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The code that was recognised.
    pub code: String,
}

/// All places that may invoke `Tool::call`, in and outside of the door.
#[must_use]
pub fn sites(sources: &[Source]) -> Vec<Site> {
    sources.iter().flat_map(sites_in).collect()
}

/// What breaks the rule: each call outside of the door, and a door without exactly one call.
#[must_use]
pub fn violations(sources: &[Source]) -> Vec<String> {
    let (inside, outside): (Vec<Site>, Vec<Site>) = sites(sources).into_iter().partition(is_in_door);
    let mut found: Vec<String> = outside
        .iter()
        .map(|Site { path, line, code }| {
            format!(
                "{path}:{line}: `{code}` invokes a tool outside of the one door; ask `Door` instead \
                 (when it is something else, list it in tests/tidy/src/one_door.rs with the reason)"
            )
        })
        .collect();
    if inside.len() != 1 {
        let places: Vec<String> = inside.iter().map(|site| format!("{}:{}", site.path, site.line)).collect();
        found.push(format!(
            "host/agent/src/door: expected exactly one call of a tool, found {}: {}",
            inside.len(),
            places.join(", ")
        ));
    }
    found
}

fn is_in_door(site: &Site) -> bool {
    DOOR.iter().any(|door| site.path == *door || (door.ends_with('/') && site.path.starts_with(door)))
}

fn sites_in(source: &Source) -> Vec<Site> {
    let tokens = source.shipped();
    let knows_no_tools =
        WITHOUT_TOOLS.iter().any(|room| source.path.starts_with(room)) && !source.mentions("Tool");
    let names = names_of_the_trait(&tokens);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_word("call")) {
        let code = match before(&tokens, at, 1).map(|token| &token.kind) {
            Some(Kind::Sign('.')) if !knows_no_tools => method_call(source, &tokens, at),
            Some(Kind::Sign(':')) => path_to_method(&tokens, at, &names),
            _ => None,
        };
        if let Some(code) = code {
            found.push(Site { path: source.path.clone(), line: token.line, code });
        }
    }
    found
}

fn before(tokens: &[Token], at: usize, distance: usize) -> Option<&Token> {
    at.checked_sub(distance).and_then(|at| tokens.get(at))
}

/// `.call(a, b)`; `at` is the word `call`.
fn method_call(source: &Source, tokens: &[Token], at: usize) -> Option<String> {
    let open = open_of_call(tokens, at)?;
    if argument_count(tokens, open) < 2 {
        return None;
    }
    let receiver = before(tokens, at, 2).and_then(Token::word).unwrap_or("(..)");
    let other = OTHER_CALLS.iter().any(|(path, name, _)| *path == source.path && *name == receiver);
    (!other).then(|| format!("{receiver}.call(..)"))
}

/// `X::call` or `<..>::call`; `at` is the word `call`.
fn path_to_method(tokens: &[Token], at: usize, names: &[String]) -> Option<String> {
    let is_trait = |word: &str| names.iter().any(|name| name == word);
    let owner = at.checked_sub(3)?;
    match &tokens.get(owner)?.kind {
        Kind::Word(word) if is_trait(word) => Some(format!("{word}::call")),
        Kind::Word(word) => {
            let many = argument_count(tokens, open_of_call(tokens, at)?) >= 3;
            let is_type = word.chars().next().is_some_and(char::is_uppercase);
            (many && is_type).then(|| format!("{word}::call(..)"))
        }
        Kind::Sign('>') => {
            let start = start_of_angles(tokens, owner)?;
            let inside = tokens.get(start..owner)?;
            let named = inside.iter().filter_map(Token::word).any(is_trait);
            named.then(|| "<.. Tool>::call".to_owned())
        }
        Kind::Sign(_) | Kind::Literal(_) | Kind::Open(_) | Kind::Close(_) => None,
    }
}

/// The parenthesis after `call`, past a turbofish.
fn open_of_call(tokens: &[Token], at: usize) -> Option<usize> {
    let mut next = at + 1;
    if matches_at(tokens, next, &[":", ":", "<"]) {
        let mut depth = 0_usize;
        loop {
            let token = tokens.get(next)?;
            depth += usize::from(token.is_sign('<'));
            depth -= usize::from(token.is_sign('>') && depth > 0);
            next += 1;
            if depth == 0 && token.is_sign('>') {
                break;
            }
        }
    }
    (tokens.get(next)?.kind == Kind::Open('(')).then_some(next)
}

/// The `<` that belongs to the `>` at `end`; the `>` of an arrow is not one.
fn start_of_angles(tokens: &[Token], end: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for at in (0..=end).rev() {
        let arrow = before(tokens, at, 1).is_some_and(|token| token.is_sign('-') || token.is_sign('='));
        let token = tokens.get(at)?;
        depth += usize::from(token.is_sign('>') && !arrow);
        if token.is_sign('<') {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// `Tool`, and what `use ..::Tool as X` calls it.
fn names_of_the_trait(tokens: &[Token]) -> Vec<String> {
    let mut names = vec!["Tool".to_owned()];
    for at in 0..tokens.len() {
        if matches_at(tokens, at, &["Tool", "as"]) {
            names.extend(tokens.get(at + 2).and_then(Token::word).map(str::to_owned));
        }
    }
    names
}

#[cfg(test)]
mod tests;

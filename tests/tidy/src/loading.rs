//! Compiled code is loaded in one room: the engine trusts the bytes it is given, so only
//! `host/sandbox`, which verifies them first, may hand any over.

use crate::tokens::{Source, Token, argument_count, matches_at};

/// The one room.
const HOME: &str = "host/sandbox/";

/// Functions of the engine that load compiled code from a file or from raw memory.
const UNMISTAKABLE: [&str; 4] =
    ["deserialize_file", "deserialize_open_file", "deserialize_raw", "deserialize_trusted"];

/// Places outside of the sandbox whose shipped code loads compiled code; a test may load what it compiled itself.
///
/// Besides the functions that only the engine has, `X::deserialize` counts with two arguments
/// (engine and bytes; serde's takes one) or when it follows `Component` or `Module`.
#[must_use]
pub fn violations(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.path.starts_with(HOME)) {
        let tokens = source.shipped();
        for (at, token) in tokens.iter().enumerate() {
            let Some(word) = token.word() else { continue };
            if UNMISTAKABLE.contains(&word) || (word == "deserialize" && loads(&tokens, at)) {
                found.push(format!(
                    "{}:{}: `{word}` loads compiled code, which only {HOME} may do",
                    source.path, token.line
                ));
            }
        }
    }
    found
}

/// The functions inside of the sandbox whose shipped code loads compiled code, as `path: function`, each once.
///
/// There is one, right after the check that the artifact is ours; a second would need a check of its own.
#[must_use]
pub fn places(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with(HOME)) {
        let tokens = source.shipped();
        for (at, token) in tokens.iter().enumerate() {
            let word = token.word().unwrap_or_default();
            if UNMISTAKABLE.contains(&word) || (word == "deserialize" && loads(&tokens, at)) {
                found.push(format!("{}: {}", source.path, function_around(&tokens, at)));
            }
        }
    }
    found.dedup();
    found
}

/// The name after the last `fn` before this token.
fn function_around(tokens: &[Token], at: usize) -> &str {
    let before = tokens.get(..at).unwrap_or_default();
    let begin = before.iter().rposition(|token| token.word() == Some("fn"));
    begin.and_then(|begin| before.get(begin + 1)).and_then(Token::word).unwrap_or("no function")
}

fn loads(tokens: &[Token], at: usize) -> bool {
    let after =
        |pattern: &[&str]| at.checked_sub(pattern.len()).is_some_and(|at| matches_at(tokens, at, pattern));
    if after(&["Component", ":", ":"]) || after(&["Module", ":", ":"]) {
        return true;
    }
    after(&[":", ":"]) && matches_at(tokens, at + 1, &["("]) && argument_count(tokens, at + 1) == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        violations(&[Source::parse(path, text).unwrap()]).len()
    }

    #[test]
    fn loading_compiled_code_outside_of_the_sandbox_is_found() {
        for text in [
            "fn f() { Component::deserialize(&engine, bytes) }",
            "fn f() { wasmtime::component::Component::deserialize(&engine, bytes) }",
            "use wasmtime::component::Component as C; fn f() { C::deserialize(&engine, bytes) }",
            "fn f() { let load = Module::deserialize; }",
            "fn f() { C::deserialize_file(&engine, path) }",
            "macro_call! { C::deserialize_raw(&engine, memory) }",
        ] {
            assert_eq!(found("host/compiler/src/cache.rs", text), 1, "{text}");
            assert_eq!(found("host/sandbox/src/load.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn each_place_that_loads_compiled_code_is_counted() {
        let text = "fn f() { Component::deserialize(&e, b); }\nfn g() { C::deserialize_file(&e, p) }";
        let sources = [Source::parse("host/sandbox/src/x.rs", text).unwrap()];
        assert_eq!(places(&sources), ["host/sandbox/src/x.rs: f", "host/sandbox/src/x.rs: g"]);
        let elsewhere = [Source::parse("host/core/src/x.rs", text).unwrap()];
        assert_eq!(places(&elsewhere), [] as [String; 0]);
    }

    #[test]
    fn a_test_may_load_what_it_compiled_itself() {
        assert_eq!(found("host/compiler/src/engine/tests.rs", "fn f() { Component::deserialize(&e, b) }"), 0);
        assert_eq!(
            found("host/compiler/src/engine.rs", "#[cfg(test)] fn f() { Component::deserialize(&e, b) }"),
            0
        );
    }

    #[test]
    fn reading_a_value_with_serde_is_something_else() {
        for text in [
            "impl<'de> Deserialize<'de> for X { fn deserialize<D>(deserializer: D) -> R { String::deserialize(deserializer) } }",
            "fn f() { seed.deserialize(deserializer) }",
        ] {
            assert_eq!(found("host/core/src/x.rs", text), 0, "{text}");
        }
    }
}

//! Tests of the token list.

use super::*;

fn shipped_words(text: &str) -> String {
    let source = Source::parse("src/x.rs", text).unwrap();
    source.shipped().iter().filter_map(Token::word).collect::<Vec<_>>().join(" ")
}

#[test]
fn comments_and_texts_are_not_code_and_macro_calls_are() {
    let source =
        Source::parse("src/x.rs", "// hidden\n/* hidden */ let a = \"hidden\"; m! { shown(1) }").unwrap();
    assert!(!source.mentions("hidden"));
    assert!(source.mentions("shown"));
}

#[test]
fn code_under_cfg_test_is_left_out_and_what_follows_is_kept() {
    for (text, expected) in [
        ("#[cfg(test)] mod tests { hidden(); } fn shown() {}", "fn shown"),
        ("#[cfg(test)] mod tests; fn shown() {}", "fn shown"),
        ("#[cfg(test)] #[allow(x)] pub(crate) fn hidden() -> [u8; 2] { x } fn shown() {}", "fn shown"),
        ("#[cfg(all(test, unix))] use hidden::{a, b}; use shown;", "use shown"),
        ("struct S { #[cfg(test)] hidden: u8, shown: u8 }", "struct S shown u8"),
        ("fn f() { #[cfg(test)] let hidden = 1; shown(); }", "fn f shown"),
        ("fn f() { match x { #[cfg(test)] A => hidden(), B => shown() } }", "fn f match x B shown"),
    ] {
        assert_eq!(shipped_words(text), expected, "{text}");
    }
}

#[test]
fn code_that_can_exist_outside_of_tests_is_kept() {
    assert!(shipped_words("#[cfg(not(test))] fn shown() {}").ends_with("fn shown"));
    assert!(shipped_words("#[cfg(any(test, feature = \"x\"))] fn shown() {}").ends_with("fn shown"));
}

#[test]
fn a_file_of_tests_ships_nothing() {
    for path in ["host/a/src/x/tests.rs", "host/a/tests/x.rs"] {
        assert!(Source::parse(path, "fn hidden() {}").unwrap().shipped().is_empty(), "{path}");
    }
    assert!(!Source::parse("host/a/src/latests.rs", "fn shown() {}").unwrap().shipped().is_empty());
}

#[test]
fn arguments_are_counted_by_their_commas() {
    for (text, expected) in
        [("()", 0), ("(a)", 1), ("(a,)", 1), ("(a, b)", 2), ("(f(a, b), [c, d])", 2), ("(a, b, c,)", 3)]
    {
        let source = Source::parse("x.rs", text).unwrap();
        assert_eq!(argument_count(&source.tokens, 0), expected, "{text}");
    }
}

#[test]
fn a_text_that_is_not_rust_is_refused_with_its_line() {
    let message = Source::parse("src/x.rs", "fn a() {\n}\n}").unwrap_err().to_string();
    assert!(message.starts_with("src/x.rs:"), "{message}");
}

#[test]
fn each_token_knows_its_line() {
    let source = Source::parse("x.rs", "a\n(\nb\n)").unwrap();
    let lines: Vec<usize> = source.tokens.iter().map(|token| token.line).collect();
    assert_eq!(lines, [1, 2, 3, 4]);
}

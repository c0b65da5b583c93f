//! What an author reads after a mistake: one file per mistake in `ui/`, with the compiler's words beside it.

#[test]
fn mistakes_are_answered_with_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

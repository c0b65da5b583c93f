//! Looks at bytes as loading does, and compares the answers with each other.
#![no_main]

use hotcell_compiler::{
    Inspection, LoadError, check_for_compile, embed_definitions, inspect, read_definitions, recognise,
};
use hotcell_core::tool::Definition;
use libfuzzer_sys::fuzz_target;

/// What an error may print at most, in bytes.
const MAX_WORDS: usize = 8_192;

fuzz_target!(|bytes: &[u8]| {
    let seen = inspect(bytes);
    let checked = check_for_compile(bytes);
    for error in [seen.as_ref().err(), checked.as_ref().err()].into_iter().flatten() {
        check_words(error);
    }
    if recognise(bytes).is_err() {
        assert!(seen.is_err() && checked.is_err(), "what is no component is refused by all");
    }
    match (&seen, &checked) {
        (Ok(inspection), Ok(())) => check_accepted(bytes, inspection),
        // A body may be broken, and an import unknown; both are seen by the second pass only.
        (Ok(inspection), Err(error)) => assert!(
            error.code() == "unsupported_import" && inspection.check().as_ref() == Err(error)
                || matches!(error, LoadError::Invalid { .. } | LoadError::UnsupportedFeature { .. }),
            "seen as fine, and then refused: {error}"
        ),
        (Err(error), Ok(())) => panic!("accepted for the compiler, and refused before: {error}"),
        (Err(_), Err(_)) => {}
    }
});

/// Another list of tools keeps a component as valid as it was, and changes nothing else.
fn check_accepted(bytes: &[u8], before: &Inspection) {
    let check = before.check();
    // What is no set of tools can be compiled all the same.
    assert!(
        matches!(check, Ok(()) | Err(LoadError::NotATool { .. })),
        "accepted for the compiler only: {check:?}"
    );
    assert_eq!(read_definitions(bytes).as_ref(), Ok(&before.definitions));
    let definitions: Vec<Definition> = serde_json::from_value(serde_json::json!([
        {"name": "fuzz", "description": "", "input_schema": {"type": "object"}}
    ]))
    .expect("a constant that is a list of definitions");
    let embedded =
        embed_definitions(bytes, &definitions).expect("a component that was read takes definitions");
    let after = match inspect(&embedded) {
        Ok(after) => after,
        // One section more can be one too many.
        Err(LoadError::TooMany { .. } | LoadError::TooLarge { .. }) => return,
        Err(error) => panic!("new definitions make it: {error}"),
    };
    assert_eq!(after.definitions.as_ref(), Some(&definitions));
    assert_eq!(
        (&after.imports, &after.exports, &after.core),
        (&before.imports, &before.exports, &before.core)
    );
    assert_eq!(check_for_compile(&embedded), Ok(()));
    assert_eq!(
        embed_definitions(&embedded, &definitions).as_ref(),
        Ok(&embedded),
        "once more changes nothing"
    );
}

fn check_words(error: &LoadError) {
    let (words, advice) = (error.to_string(), error.advice());
    assert!(!words.is_empty() && words.len() < MAX_WORDS, "{} bytes of words", words.len());
    assert!(!words.chars().any(char::is_control), "control characters of the file: {words:?}");
    assert!(!advice.is_empty() && !error.code().is_empty(), "{words}");
}

//! Hostile bytes through the real binary: each file is refused with its code and its words, and nothing of it stays.

use hotcell_compiler::{LoadError, check_for_compile, inspect};
use hotcell_tests::call;
use hotcell_tests::generated::small;
use hotcell_tests::guest;
use hotcell_tests::health::control_tool;
use hotcell_tests::sections::{Random, boundaries, end_of_code};
use hotcell_tests::untouched::Place;

/// The seed of everything random here.
const SEED: u64 = 0x0b5e_55ed;

/// Checks that both commands refuse a file with this code and these words, and that nothing of it stays.
pub(crate) fn refused(place: &Place, name: &str, bytes: &[u8], code: &str, words: &[&str]) {
    let path = place.component(&format!("{name}.wasm"), bytes);
    let path = path.to_str().unwrap();
    for verb in [&["tool", "inspect", path, "--json"][..], &["tool", "call", path, "t", "--json"]] {
        let said = place.hotcell(verb);
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        let json = said.json();
        // What is whole but cannot be loaded is described as well, so the error is beside it.
        let error = if verb[1] == "inspect" && json["loadable"] == false {
            said.err.clone()
        } else {
            assert_eq!(json["error"]["code"], code, "{name}: {said:?}");
            json["error"]["message"].as_str().unwrap().to_owned()
        };
        for word in words {
            assert!(error.contains(word), "{name}: `{word}` is not in: {said:?}");
        }
        place.check_untouched(name, &said);
    }
}

/// A component that exports what a tool does, by name; more stands in front of it.
pub(crate) fn almost_a_tool(more: &str) -> Vec<u8> {
    with_exports(
        more,
        r#"(instance $t (export "call" (func $run)) (export "definitions" (func $run)))
        (export "hotcell:tool/tools@0.1.0" (instance $t))"#,
    )
}

/// A component with a function `$run` to export.
fn with_exports(more: &str, exports: &str) -> Vec<u8> {
    let text = format!(
        r#"(component {more}
            (core module $m (func (export "run")))
            (core instance $i (instantiate $m))
            (func $run (canon lift (core func $i "run")))
            {exports})"#
    );
    wat::parse_str(&text).unwrap()
}

#[test]
fn files_that_are_something_else_are_named_for_what_they_are() {
    let place = Place::new();
    let artifact = call::compile(&control_tool());
    let precompiled = artifact.code().read().unwrap();
    let tar = [&[b'a'; 257][..], b"ustar\0", &[0; 249]].concat();
    let cases: [(&str, &[u8], &str); 18] = [
        ("empty", b"", "an empty file"),
        ("one byte", b"\0", "cut off"),
        ("header", b"\0asm\x0d\0\x01\0", "exports nothing"),
        ("module", b"\0asm\x01\0\0\0", "a core WebAssembly module"),
        ("text", b"(component)", "WebAssembly text (WAT)"),
        ("precompiled", &precompiled, "compiled ahead of time"),
        ("elf", b"\x7fELF\x02\x01\x01\0", "(ELF)"),
        ("pe", b"MZ\x90\0\x03\0\0\0", "(PE)"),
        ("mach-o", b"\xcf\xfa\xed\xfe\x07\0\0\x01", "(Mach-O)"),
        ("zip", b"PK\x03\x04....", "a zip archive"),
        ("gzip", b"\x1f\x8b\x08\0", "a gzip archive"),
        ("tar", &tar, "an archive"),
        ("zstd", b"\x28\xb5\x2f\xfd...", "an archive"),
        ("ar", b"!<arch>\nx", "an archive"),
        ("script", b"#!/bin/sh\nexit 0\n", "a script"),
        ("page", b"<!DOCTYPE html><title>Not found</title>", "a web page"),
        ("json", b"{\"message\": \"not found\"}", "JSON"),
        ("noise", b"\xff\xfe\xfd\xfc", "not WebAssembly"),
    ];
    for (name, bytes, words) in cases {
        refused(&place, name, bytes, "invalid_component", &[words]);
    }
}

#[test]
fn a_component_cut_anywhere_is_refused() {
    let whole = small(1).unwrap();
    assert!(inspect(&whole).unwrap().check().is_ok() && check_for_compile(&whole).is_ok());
    let places = boundaries(&whole);
    for length in 0..whole.len() {
        // A component that only lacks its last custom sections is a component; nothing in it says that there were more.
        let is_whole = length >= end_of_code(&whole) && places.contains(&length);
        let expected = if is_whole { Expected::Anything } else { Expected::Refused };
        clean(&whole[..length], &format!("cut after {length} bytes"), expected);
    }

    let place = Place::new();
    let whole = guest::bytes("text-stats");
    let places = boundaries(&whole);
    let mut random = Random::new(SEED);
    let cuts: Vec<usize> = (0..200).map(|_| random.below(whole.len())).collect();
    let refusable = |cut: &usize| *cut < end_of_code(&whole) || !places.contains(cut);
    for cut in places.iter().chain(&cuts).copied().filter(refusable) {
        clean(&whole[..cut], &format!("cut after {cut} bytes"), Expected::Refused);
    }
    // All are the same to the binary, so a few go through it.
    let few = places.iter().step_by(places.len() / 6).chain(cuts.iter().step_by(40));
    for cut in few.copied().filter(refusable) {
        refused(&place, &format!("cut-{cut}"), &whole[..cut], "invalid_component", &[]);
    }
}

#[test]
fn a_thousand_mutations_are_refused_or_accepted_and_nothing_else() {
    let place = Place::new();
    let whole = small(2).unwrap();
    let mut random = Random::new(SEED);
    let mut refusals = Vec::new();
    for round in 0..1_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, &mut random);
        }
        if let Some(error) = clean(&bytes, &format!("mutation {round}"), Expected::Anything) {
            refusals.push((round, bytes, error));
        }
    }
    assert!(refusals.len() > 500, "most changes break something: {}", refusals.len());
    for (round, bytes, error) in refusals.iter().step_by(refusals.len() / 10) {
        refused(&place, &format!("mutation-{round}"), bytes, error.code(), &[]);
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
        2 => drop(bytes.remove(at)),
        _ => bytes.insert(at, u8::try_from(random.below(256)).unwrap()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Refused,
    Anything,
}

/// Both passes end with an answer, in printable words of a known code, and agree.
fn clean(bytes: &[u8], what: &str, expected: Expected) -> Option<LoadError> {
    let checked = check_for_compile(bytes).err();
    let seen = inspect(bytes).and_then(|inspection| inspection.check()).err();
    for error in seen.iter().chain(&checked) {
        let codes = ["invalid_component", "unsupported_feature", "unsupported_import"];
        assert!(codes.contains(&error.code()), "{what}: {error:?}");
        assert!(!error.to_string().chars().any(char::is_control), "{what}: {error}");
    }
    assert!(expected == Expected::Anything || seen.is_some(), "{what} is accepted");
    if let Some(error @ (LoadError::TooMany { .. } | LoadError::Truncated { .. })) = &seen {
        assert_eq!(checked.as_ref(), Some(error), "{what}: both passes say the same");
    }
    // Only the second pass reads the bodies of functions.
    seen.or(checked)
}

#[test]
fn components_that_are_no_tools_are_refused_with_the_export_that_is_missing() {
    let place = Place::new();
    let tools = "hotcell:tool/tools@0.1.0";
    let instance = |functions: &str| {
        with_exports("", &format!("(instance $t {functions}) (export \"{tools}\" (instance $t))"))
    };
    let other = r#"(instance $t (export "call" (func $run))) (export "a:b/c" (instance $t))"#;
    let cases = [
        ("top", with_exports("", r#"(export "call" (func $run))"#), tools.to_owned()),
        ("elsewhere", with_exports("", other), tools.to_owned()),
        ("no-call", instance(r#"(export "definitions" (func $run))"#), format!("{tools}#call")),
        ("no-definitions", instance(r#"(export "call" (func $run))"#), format!("{tools}#definitions")),
    ];
    for (name, bytes, missing) in cases {
        refused(&place, name, &bytes, "invalid_component", &["it does not export", &missing]);
    }
}

/// What only the engine finds: compiled under limits, and then refused. The artifact may be kept, it is never run.
fn refused_by_the_engine(name: &str, bytes: &[u8], code: &str, words: &[&str]) {
    let mut place = Place::new();
    let path = place.component(&format!("{name}.wasm"), bytes);
    let said = place.hotcell(&["tool", "call", path.to_str().unwrap(), "t", "--json"]);
    assert_eq!(said.code, Some(1), "{name}: {said:?}");
    let error = said.json()["error"].clone();
    assert_eq!(error["code"], code, "{name}: {said:?}");
    for word in words {
        assert!(error["message"].as_str().unwrap().contains(word), "{name}: `{word}` is not in: {said:?}");
    }
    place.accept_cache();
    place.check_untouched(name, &said);
}

#[test]
fn functions_of_another_type_are_refused_when_the_component_is_loaded() {
    let words = ["of `hotcell:tool/tools@0.1.0` is not the function of that version", "found ()"];
    refused_by_the_engine("other-type", &almost_a_tool(""), "invalid_component", &words);
}

#[test]
fn imports_that_are_not_there_are_named_at_load() {
    let place = Place::new();
    let unknown = almost_a_tool(r#"(import "example:unknown/thing@1.0.0" (instance (export "f" (func))))"#);
    refused(&place, "unknown", &unknown, "unsupported_import", &["example:unknown/thing@1.0.0"]);

    let wasi = |name: &str, item: &str| {
        almost_a_tool(&format!("(import \"{name}\" (instance (export \"{item}\" (func))))"))
    };
    let not_yet = wasi("wasi:http/outgoing-handler@0.2.3", "handle");
    refused(&place, "not yet", &not_yet, "unsupported_import", &["wasi:http/outgoing-handler@0.2.3"]);

    let status =
        r#"(import "wasi:cli/exit@0.2.0" (instance (export "exit" (func (param "status" string)))))"#;
    for (name, bytes, words) in [
        ("newer function", wasi("wasi:cli/exit@0.2.99", "leave"), ["wasi:cli/exit@0.2.99", "leave"]),
        ("other type", almost_a_tool(status), ["wasi:cli/exit@0.2.0", "exit"]),
    ] {
        refused_by_the_engine(name, &bytes, "unsupported_import", &words);
    }
    // A newer version whose functions are known ones is fine; what is wrong here is something else.
    let newer =
        r#"(import "wasi:cli/exit@0.2.99" (instance (export "exit" (func (param "status" (result))))))"#;
    refused_by_the_engine("newer version", &almost_a_tool(newer), "invalid_component", &["`definitions` of"]);
}

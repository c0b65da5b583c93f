//! Components with too much of something, and components that need what is switched off, through the real binary.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use hotcell_tests::command::run;
use hotcell_tests::guest::binary;
use hotcell_tests::sections::{custom_section_of, nested};
use hotcell_tests::untouched::Place;

use crate::loading_bytes::{almost_a_tool, refused};

/// Bytes of a component that are read at most, and what else a process reads: its libraries, the system's settings.
const MAX_READ_BYTES: u64 = (32 << 20) + (64 << 10);

fn many(count: usize, text: &str) -> String {
    text.repeat(count)
}

fn module(inside: &str) -> Vec<u8> {
    almost_a_tool(&format!("(core module {inside})"))
}

#[test]
fn too_many_of_anything_is_refused_before_anything_is_compiled() {
    let place = Place::new();
    let exports: String = (0..2_000).map(|n| format!("(export \"e{n}\" (func $g))")).collect();
    let imports: String = (0..100_000).map(|_| "(import \"a\" \"b\" (func))").collect();
    let exported = format!(
        r#"(core module $n (func (export "g"))) (core instance $j (instantiate $n))
           (func $g (canon lift (core func $j "g"))) {exports}"#
    );
    let cases = [
        ("functions-900000", module(&many(900_000, "(func)")), "functions or more, at most 300000"),
        ("functions-1100000", module(&many(1_100_000, "(func)")), "functions or more"),
        ("nested", nested(200), "levels of components"),
        ("aliases", almost_a_tool(&alias_chain(100_000)), "aliases or more"),
        ("exports", almost_a_tool(&exported), "exports or more, at most 1000"),
        ("data", module(&format!("(memory 1) {}", many(100_000, "(data \"x\")"))), "data segments or more"),
        (
            "elements",
            module(&format!("(func $f) {}", many(100_000, "(elem func $f)"))),
            "element segments or more",
        ),
        ("imports", module(&imports), "imports of core modules or more"),
    ];
    for (name, bytes, words) in cases {
        refused(&place, name, &bytes, "invalid_component", &[words]);
    }
}

/// Each stands for the one before it.
fn alias_chain(links: usize) -> String {
    let chain: String = (0..links).map(|n| format!("(alias outer 0 {n} (type))")).collect();
    format!("(type u8) {chain}")
}

#[test]
fn what_is_larger_than_a_component_may_be_is_not_read() {
    let place = Place::new();
    let sparse = place.component("sparse.wasm", b"\0asm\x0d\0\x01\0");
    File::options().write(true).open(&sparse).unwrap().set_len(1 << 30).unwrap();
    let custom = place.component("custom.wasm", &custom_section_of(0));
    let whole = custom_section_of(200_000_000);
    File::options().write(true).open(&custom).unwrap().write_all_at(&whole, 0).unwrap();
    for path in [&sparse, &custom] {
        for verb in ["inspect", "call"] {
            let (said, read) = run_and_count_reads(&place, &["tool", verb], path);
            assert_eq!(said.code, Some(1), "{said:?}");
            assert!(said.out.contains("\"too_large\""), "{said:?}");
            assert!(said.err.contains("at most 32 MiB are allowed"), "{said:?}");
            assert!((1..=MAX_READ_BYTES).contains(&read), "{read} bytes were read: {said:?}");
            place.check_untouched("a large file", &said);
        }
    }
}

/// Runs a command below a shell, which then says how many bytes its children read, however they read them.
fn run_and_count_reads(place: &Place, verb: &[&str], path: &Path) -> (hotcell_tests::command::Said, u64) {
    let script = "\"$@\"; code=$?; while read -r name value; do echo \"io $name $value\" >&2; done </proc/$$/io; exit $code";
    let binary = binary();
    let mut args = vec!["-c", script, "sh", binary.to_str().unwrap()];
    args.extend(verb.iter().chain(&[path.to_str().unwrap(), "--json"]));
    let environment = place.environment();
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
    let said = run(Path::new("/bin/sh"), &args, &environment);
    let read = said.err.lines().find_map(|line| line.strip_prefix("io rchar: "));
    let read = read.expect("the kernel counts what a process and its children read").parse().unwrap();
    (said, read)
}

#[test]
fn each_feature_that_is_switched_off_is_named() {
    let place = Place::new();
    let inside = |text: &str| module(text);
    let cases = [
        ("threads", inside("(memory 1 1 shared)")),
        ("memory64", inside("(memory i64 1)")),
        ("gc", inside("(type (struct (field i32)))")),
        ("function-references", inside("(type $f (func)) (type (func (param (ref $f))))")),
        ("exceptions", inside("(tag)")),
        ("stack-switching", inside("(type $f (func)) (type (cont $f))")),
        ("custom-page-sizes", inside("(memory 1 (pagesize 1))")),
        ("cm-async", almost_a_tool("(type (future u8))")),
        ("cm-error-context", almost_a_tool("(type error-context)")),
        ("cm-map", almost_a_tool("(type (map string u8))")),
        ("cm-fixed-length-lists", almost_a_tool("(type (list u8 4))")),
    ];
    for (feature, bytes) in cases {
        refused(&place, feature, &bytes, "unsupported_feature", &[feature]);
    }
}

#[test]
fn features_inside_of_functions_are_named_before_they_are_compiled() {
    let place = Place::new();
    for (feature, body) in [
        ("threads", "(drop (i32.atomic.load (i32.const 0)))"),
        ("relaxed-simd", "(drop (i8x16.relaxed_swizzle (v128.const i64x2 0 0) (v128.const i64x2 0 0)))"),
        ("wide-arithmetic", "(i64.add128 (i64.const 0) (i64.const 0) (i64.const 0) (i64.const 0)) drop drop"),
    ] {
        let bytes = module(&format!("(memory 1) (func {body})"));
        let path = place.component(&format!("{feature}.wasm"), &bytes);
        let said = place.hotcell(&["tool", "call", path.to_str().unwrap(), "t", "--json"]);
        assert_eq!(
            (said.code, &said.json()["error"]["code"]),
            (Some(1), &"unsupported_feature".into()),
            "{said:?}"
        );
        assert!(said.err.contains(feature), "{feature}: {said:?}");
        place.check_untouched(feature, &said);
    }
}

use std::time::Instant;

use super::*;
use crate::error::FileKind;

mod large;

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A component that exports one function, with more in front of it.
fn component(more: &str) -> Vec<u8> {
    wat(&format!(
        r#"(component {more}
            (core module $m (func (export "run")))
            (core instance $i (instantiate $m))
            (func (export "run") (canon lift (core func $i "run"))))"#
    ))
}

fn instances(names: &[&str]) -> String {
    names.iter().map(|name| format!("(import \"{name}\" (instance)) ")).collect()
}

fn ceiling(inspection: &Inspection, capability: Capability) -> &str {
    let ceiling = inspection.ceilings.iter().find(|ceiling| ceiling.capability == capability);
    &ceiling.unwrap().text
}

#[test]
fn a_pure_component_can_reach_nothing() {
    let inspection = inspect(&component("")).unwrap();
    assert_eq!(inspection.exports, ["run"]);
    assert!(inspection.imports.is_empty() && check_for_compile(&component("")).is_ok());
    assert!(inspection.ceilings.iter().all(|ceiling| !ceiling.possible), "{:?}", inspection.ceilings);
    assert_eq!(ceiling(&inspection, Capability::Network), "cannot reach the network");
    assert_eq!((inspection.definitions, inspection.tool_interface), (None, None));
}

#[test]
fn the_interfaces_every_toolchain_brings_are_grouped_and_give_no_reach() {
    let inspection = inspect(&component(&instances(&[
        "wasi:io/streams@0.2.6",
        "wasi:io/error@0.2.6",
        "wasi:cli/environment@0.2.6",
        "wasi:cli/stderr@0.2.6",
        "wasi:clocks/wall-clock@0.2.9",
        "wasi:random/random@0.2.6",
        "wasi:filesystem/preopens@0.2.6",
        "wasi:sockets/tcp@0.2.6",
        "hotcell:types/types@0.1.0",
        "hotcell:log/log@0.1.0",
        "hotcell:progress/progress@0.1.3",
        "hotcell:control/control@0.1.0",
    ])))
    .unwrap();
    let io = inspection.imports.iter().find(|group| group.package == "wasi:io").unwrap();
    assert_eq!(io.interfaces, ["error", "streams"]);
    assert_eq!((io.version.as_deref(), io.standing), (Some("0.2.6"), Standing::Baseline));
    assert!(inspection.unknown_imports.is_empty());
    assert!(ceiling(&inspection, Capability::Network).starts_with("cannot reach the network"));
    assert_eq!(ceiling(&inspection, Capability::Files), "reads and writes only the files it is given");
    assert_eq!(ceiling(&inspection, Capability::Clock), "can read clocks");
    assert_eq!(ceiling(&inspection, Capability::Log), "can write log records, which are capped");
}

#[test]
fn http_is_known_and_not_available_yet() {
    let inspection = inspect(&component(&instances(&["wasi:http/outgoing-handler@0.2.3"]))).unwrap();
    assert_eq!(inspection.imports[0].standing, Standing::NotYet);
    assert_eq!(inspection.unknown_imports, ["wasi:http/outgoing-handler@0.2.3"]);
    assert_eq!(inspection.check().unwrap_err().code(), "unsupported_import");
    assert!(ceiling(&inspection, Capability::Network).contains("HTTP"));
}

#[test]
fn unknown_imports_are_named_with_their_versions() {
    let bytes = component(&format!(
        "{} (import \"plain\" (func)) (import \"wasi:io/poll@0.2.0\" (func))",
        instances(&[
            "evil:corp/backdoor@1.2.3",
            "wasi:keyvalue/store@0.2.0",
            "wasi:clocks/timezone@0.2.0",
            "wasi:cli/stdout@0.3.0",
            "hotcell:secrets/secrets@0.1.0",
            "wasi:io/streams@0.2.0",
        ])
    ));
    let inspection = inspect(&bytes).unwrap();
    let expected = [
        "evil:corp/backdoor@1.2.3",
        "hotcell:secrets/secrets@0.1.0",
        "plain",
        "wasi:cli/stdout@0.3.0",
        "wasi:clocks/timezone@0.2.0",
        "wasi:io/poll@0.2.0",
        "wasi:keyvalue/store@0.2.0",
    ];
    assert_eq!(inspection.unknown_imports, expected);
    let error = inspection.check().unwrap_err();
    assert_eq!(error.code(), "unsupported_import");
    assert!(error.to_string().contains("evil:corp/backdoor@1.2.3"), "{error}");
    assert!(error.advice().contains("WASI 0.2"));
    assert_eq!(check_for_compile(&bytes), Err(error));
}

#[test]
fn the_tool_interface_is_recognised_in_its_served_versions_only() {
    for (version, found) in [("0.1.0", true), ("0.1.7", true), ("0.2.0", false), ("1.0.0", false)] {
        let bytes = wat(&format!(
            r#"(component
                (core module $m (func (export "run")))
                (core instance $i (instantiate $m))
                (func $run (canon lift (core func $i "run")))
                (instance $tools (export "run" (func $run)))
                (export "hotcell:tool/tools@{version}" (instance $tools)))"#
        ));
        assert_eq!(inspect(&bytes).unwrap().tool_interface.is_some(), found, "{version}");
    }
}

#[test]
fn what_is_missing_of_the_tool_interface_is_named_and_functions_elsewhere_do_not_count() {
    let module = r#"(core module $m (func (export "run"))) (core instance $i (instantiate $m))
        (func $run (canon lift (core func $i "run")))"#;
    let tools = "hotcell:tool/tools@0.1.0";
    let instance = |functions: &str| format!("(instance $t {functions}) (export \"{tools}\" (instance $t))");
    let elsewhere = "(instance $e (export \"call\" (func $run))) (export \"a:b/c\" (instance $e))";
    let (call, definitions) = ("(export \"call\" (func $run))", "(export \"definitions\" (func $run))");
    for (text, missing) in [
        (call.to_owned(), vec![tools.to_owned()]),
        (elsewhere.to_owned(), vec![tools.to_owned()]),
        (instance(definitions), vec![format!("{tools}#call")]),
        (instance(call), vec![format!("{tools}#definitions")]),
        (instance(&format!("{call} {definitions}")), vec![]),
    ] {
        let inspection = inspect(&wat(&format!("(component {module} {text})"))).unwrap();
        assert_eq!(inspection.missing_exports, missing, "{text}");
        assert_eq!(
            inspection.check().err().map(|error| error.code()),
            (!missing.is_empty()).then_some("invalid_component")
        );
    }
}

#[test]
fn memories_tables_instances_and_start_functions_are_counted() {
    let bytes = wat(r#"(component
            (core module $a (memory 3) (memory 1) (table 7 funcref) (func $s) (start $s) (func (export "run")))
            (core module $b (memory 65536) (table 1 funcref))
            (core instance $i (instantiate $a))
            (core instance (instantiate $b))
            (core instance (instantiate $b))
            (component (core module (func $s) (start $s)))
            (func (export "run") (canon lift (core func $i "run"))))"#);
    let core = inspect(&bytes).unwrap().core;
    let expected = CoreShape {
        modules: 3,
        instances: 3,
        memories: 3,
        minimum_memory_bytes: (4 << 16) + (4 << 30),
        tables: 2,
        minimum_table_elements: 8,
        start_functions: 2,
    };
    assert_eq!(core, expected);
}

#[test]
fn an_inspection_is_json_without_control_characters_of_the_file() {
    let bytes = component("(@producers (language \"Ru\\1bst\" \"1.95\") (sdk \"s\" \"\"))");
    let inspection = inspect(&bytes).unwrap();
    assert_eq!(inspection.producers[0].name, "Ru\\u{1b}st");
    let json = serde_json::to_value(&inspection).unwrap();
    assert_eq!(json["kind"], "component");
    assert!(json["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(json["ceilings"][0]["capability"], "network");
}

#[test]
fn files_that_are_no_components_are_named() {
    let found = |bytes: &[u8]| match inspect(bytes) {
        Err(LoadError::NotComponent { found }) => found,
        other => panic!("expected the kind of a file, found {other:?}"),
    };
    assert_eq!(inspect(b"").unwrap_err(), LoadError::Empty);
    assert_eq!(found(&wat("(module)")), FileKind::CoreModule);
    assert_eq!(found(b"(component)"), FileKind::WasmText);
    let engine = crate::engine::engine().unwrap();
    assert_eq!(found(&engine.precompile_component(&component("")).unwrap()), FileKind::Precompiled);
    let error = inspect(&wat("(component)")).unwrap_err();
    assert!(error.to_string().contains("exports nothing"), "{error}");
}

#[test]
fn a_cut_component_is_never_taken_for_a_whole_one_and_never_panics() {
    let bytes = component(&instances(&["wasi:io/error@0.2.0"]));
    let whole = inspect(&bytes).unwrap();
    for length in 0..bytes.len() {
        match inspect(&bytes[..length]) {
            Err(error) => assert!(error.code() == "invalid_component", "{length}: {error}"),
            // Names for debuggers may follow the last export.
            Ok(cut) => assert_eq!(cut.exports, whole.exports, "{length}"),
        }
    }
}

#[test]
fn a_thousand_mutations_are_read_or_refused_and_never_panic() {
    let bytes = component(&instances(&["wasi:io/error@0.2.0", "wasi:cli/exit@0.2.0"]));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for _ in 0..1_000 {
        let mut mutant = bytes.clone();
        for _ in 0..=next(4) {
            let place = next(mutant.len());
            mutant[place] = u8::try_from(next(256)).unwrap();
        }
        if let Err(error) = inspect(&mutant) {
            assert!(error.to_string().chars().count() < 2_000);
        }
        let _checked = check_for_compile(&mutant);
    }
}

#[test]
fn each_feature_that_is_off_is_refused_by_name() {
    let core = |module: &str, feature: &str| {
        let bytes = wat(&format!(
            r#"(component (core module $m {module} (func (export "run")))
                (core instance $i (instantiate $m))
                (func (export "run") (canon lift (core func $i "run"))))"#
        ));
        refused(&bytes, feature);
    };
    core("(memory 1 1 shared)", "threads");
    core("(memory i64 1)", "memory64");
    core("(type (struct))", "gc");
    core("(func (param externref))", "gc-types");
    core("(tag)", "exceptions");
    core("(memory 1 (pagesize 1))", "custom-page-sizes");
    core("(type $f (func)) (func (param (ref $f)) (call_ref $f (local.get 0)))", "function-references");
    core("(func (param v128) (drop (i8x16.relaxed_swizzle (local.get 0) (local.get 0))))", "relaxed-simd");
    core(
        "(func (param i64) (result i64 i64) (i64.add128 (local.get 0) (local.get 0) (local.get 0) (local.get 0)))",
        "wide-arithmetic",
    );
    core("(type $f (func)) (type $c (cont $f))", "stack-switching");
    refused(&component("(type (future))"), "cm-async");
    refused(&component("(type (func (param \"e\" error-context)))"), "cm-error-context");
    refused(&component("(type (list u8 4))"), "cm-fixed-length-lists");
}

/// Refused by name here, and refused by the engine too.
fn refused(bytes: &[u8], feature: &str) {
    match check_for_compile(bytes) {
        Err(LoadError::UnsupportedFeature { feature: found, .. }) => assert_eq!(found, feature),
        other => panic!("expected `{feature}` to be refused, found {other:?}"),
    }
    let engine = crate::engine::engine().unwrap();
    assert!(engine.precompile_component(bytes).is_err(), "{feature}");
}

#[test]
fn what_is_accepted_compiles() {
    let engine = crate::engine::engine().unwrap();
    for more in [
        "",
        "(core module (memory 1) (memory 1) (func (memory.copy 0 1 (i32.const 0) (i32.const 0) (i32.const 0))))",
        "(core module (func $f (return_call $f)))",
        "(core module (func (param v128) (result v128) (i8x16.neg (local.get 0))))",
        "(core module (table 1 funcref) (func (param funcref) (table.set (i32.const 0) (local.get 0))))",
        "(core module (global i32 (i32.add (i32.const 1) (i32.const 2))))",
    ] {
        let bytes = component(more);
        check_for_compile(&bytes).unwrap();
        engine.precompile_component(&bytes).unwrap();
    }
}

#[test]
fn components_nested_too_deep_are_refused() {
    let nested = |depth: usize| component(&format!("{}{}", "(component ".repeat(depth), ")".repeat(depth)));
    assert!(inspect(&nested(20)).is_ok());
    let error = inspect(&nested(90)).unwrap_err();
    assert_eq!(error.code(), "invalid_component", "{error}");
}

/// A component type that declares a component type, and so on.
fn nested_types(depth: usize) -> Vec<u8> {
    let body = [vec![1], [0x41, 1, 1].repeat(depth - 1), vec![0x41, 0]].concat();
    let mut bytes = component("");
    bytes.push(7);
    let mut length = body.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend_from_slice(&body);
    bytes
}

#[test]
fn types_nested_as_deep_as_real_ones_are_read() {
    let text = "(type (component (import \"a\" (instance (type (instance (export \"x\" (func (param \"p\" u32))))) \
        (export \"t\" (type (sub resource))))) (export \"b\" (component (export \"c\" (func))))))";
    assert!(inspect(&component(text)).is_ok());
    assert!(inspect(&nested_types(60)).is_ok());
}

#[test]
fn types_nested_without_end_do_not_use_up_the_stack() {
    for depth in [65, 90_000] {
        let error = inspect(&nested_types(depth)).unwrap_err();
        assert!(error.to_string().contains("65 levels of types or more, at most 64 are allowed"), "{error}");
    }
}

#[test]
fn large_and_crowded_components_below_the_bounds_are_looked_at() {
    for (name, bytes) in large::accepted() {
        let start = Instant::now();
        let seen = inspect(&bytes);
        println!("{name}: {} bytes, {:?}", bytes.len(), start.elapsed());
        assert!(seen.is_ok(), "{name}: {seen:?}");
    }
    let mut huge = component("");
    huge.resize(MAX_COMPONENT_BYTES + 1, 0);
    assert_eq!(inspect(&huge).unwrap_err().code(), "too_large");
}

#[test]
fn each_bound_is_kept_and_named() {
    for (counted, bytes) in large::refused() {
        let start = Instant::now();
        let error = inspect(&bytes).unwrap_err();
        println!("{counted:?}: {} bytes, {:?}", bytes.len(), start.elapsed());
        let LoadError::TooMany { counted: named, found, limit, offset } = &error else {
            panic!("expected a bound on {counted:?}, found {error}");
        };
        assert_eq!((*named, *limit), (counted, counted.bound().limit), "{error}");
        assert!(found > limit && usize::try_from(*offset).unwrap() <= bytes.len(), "{error}");
        assert_eq!(error.code(), "invalid_component");
        assert_eq!(check_for_compile(&bytes), Err(error));
    }
}

//! `hotcell tool inspect` and `policy check`: what a file is and what to do, without running it.

use std::path::{Path, PathBuf};

use hotcell_tests::command::{Said, hotcell};
use hotcell_tests::guest;
use hotcell_tests::wat_tool::WatTool;

fn inspect(path: &Path) -> Said {
    hotcell(&["tool", "inspect", path.to_str().unwrap()])
}

#[test]
fn each_example_shows_its_tools_imports_and_ceilings() {
    for (tool, names) in [
        ("text-stats", vec!["count"]),
        ("csv-query", vec!["query"]),
        ("notes", vec!["list", "read", "write", "search"]),
        ("misbehave", vec!["spin", "sleep", "panic"]),
    ] {
        let said = hotcell(&["tool", "inspect", guest::path(tool).to_str().unwrap(), "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let json = said.json().to_string();
        for name in names {
            assert!(json.contains(&format!(r#""name":"{name}""#)), "{tool} has {name}: {json}");
        }
        let said = inspect(&guest::path(tool));
        assert!(said.out.contains("cannot reach the network"), "{said:?}");
        assert!(said.out.contains("imports"), "{said:?}");
    }
}

#[test]
fn files_that_are_no_components_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(guest::path("text-stats")).unwrap();
    let unknown = br#"(component
        (import "example:unknown/thing@1.0.0" (instance $thing (export "f" (func))))
        (export "g" (func $thing "f")))"#;
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("empty", Vec::new(), "empty file"),
        ("truncated", whole[..whole.len() / 3].to_vec(), "cut off"),
        ("core", b"\0asm\x01\0\0\0".to_vec(), "core WebAssembly module"),
        ("text", b"(component)".to_vec(), "WebAssembly text"),
        ("elf", std::fs::read("/bin/sh").unwrap(), "ELF"),
        ("unknown", wat::parse_bytes(unknown).unwrap().into_owned(), "example:unknown/thing"),
    ];
    for (name, bytes, expected) in cases {
        let path: PathBuf = folder.path().join(format!("{name}.wasm"));
        std::fs::write(&path, bytes).unwrap();
        let said = inspect(&path);
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        assert!(format!("{}{}", said.out, said.err).contains(expected), "{name}: {said:?}");
        assert!(!said.err.contains("panicked"), "{name}: {said:?}");
    }
}

#[test]
fn two_versions_are_compared_and_growth_of_reach_is_said_first() {
    let (stats, notes) = (guest::path("text-stats"), guest::path("notes"));
    let (stats, notes) = (stats.to_str().unwrap(), notes.to_str().unwrap());
    let said = hotcell(&["tool", "inspect", stats, notes]);
    assert_eq!(said.code, Some(0), "a difference is no failure: {said:?}");
    let place = |text: &str| said.out.find(text).unwrap_or_else(|| panic!("{text}: {said:?}"));
    assert!(place("REACH GROWS") < place("+ reads and writes only the files it is given"), "{said:?}");
    assert!(place("REACH GROWS") < place("+ search") && place("- count") > 0, "{said:?}");

    let json = hotcell(&["tool", "inspect", stats, notes, "--json"]).json();
    assert_eq!(json["reach_gained"][0]["capability"], "files", "{json}");
    assert_eq!(json["tools"]["added"].as_array().unwrap().len(), 4, "{json}");
    let json = hotcell(&["tool", "inspect", stats, stats, "--json"]).json();
    assert_eq!(
        (&json["same_bytes"], &json["reach_gained"]),
        (&serde_json::json!(true), &serde_json::json!([]))
    );
}

/// A component with these definitions embedded, as a file.
fn with_definitions(folder: &Path, name: &str, definitions: &serde_json::Value) -> PathBuf {
    let tool = WatTool { call: "(call $ok)", ..WatTool::default() }.build().unwrap();
    let definitions: Vec<hotcell_core::tool::Definition> =
        serde_json::from_value(definitions.clone()).unwrap();
    let bytes = hotcell_compiler::embed_definitions(&tool, &definitions).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn text_that_a_model_reads_and_a_person_does_not_see_is_flagged_and_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let hidden = "reads\u{e0049}\u{e0047}\u{202e}\u{1b}[2J";
    let tool =
        serde_json::json!([{"name": "read", "description": hidden, "input_schema": {"type": "object"}}]);
    let file = with_definitions(folder.path(), "hidden.wasm", &tool);
    let said = inspect(&file);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("WARNING: the text of read has 4 hidden characters"), "{said:?}");
    assert!(!said.out.contains(['\u{1b}', '\u{202e}', '\u{e0049}']), "{said:?}");
    let said = hotcell(&["tool", "inspect", file.to_str().unwrap(), "--json"]);
    assert_eq!(said.json()["hidden_characters"]["read"], 4, "{said:?}");
    assert!(said.out.is_ascii(), "{said:?}");
}

#[test]
fn arguments_that_take_more_or_less_in_the_new_version_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let version = |name: &str, schema: serde_json::Value| {
        let tool = serde_json::json!([{"name": "read", "description": "d", "input_schema": schema}]);
        with_definitions(folder.path(), name, &tool)
    };
    let old = version(
        "old.wasm",
        serde_json::json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"maximum": 3}}}),
    );
    let new = version(
        "new.wasm",
        serde_json::json!({"type": "object", "required": ["a"],
            "properties": {"a": {"type": ["string", "null"]}, "b": {"maximum": 2}}}),
    );
    let said = hotcell(&["tool", "inspect", old.to_str().unwrap(), new.to_str().unwrap()]);
    for expected in [
        "reach: nothing more than before",
        "argument a has to be given now",
        "/properties/a/type: changed, takes more now",
        "/properties/b/maximum: changed, takes less now",
    ] {
        assert!(said.out.contains(expected), "{expected}: {said:?}");
    }
}

#[test]
fn a_component_that_asks_for_http_is_shown_and_cannot_be_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"(component (import "wasi:http/outgoing-handler@0.2.3" (instance))
        (core module $m (func (export "f"))) (core instance $i (instantiate $m))
        (func (export "f") (canon lift (core func $i "f"))))"#;
    let path = folder.path().join("http.wasm");
    std::fs::write(&path, wat::parse_str(text).unwrap()).unwrap();
    let said = inspect(&path);
    assert_eq!(said.code, Some(1), "{said:?}");
    for expected in
        ["asks for HTTP", "NOT AVAILABLE in this version", "without HTTP", "CANNOT be loaded here"]
    {
        assert!(said.out.contains(expected), "{expected}: {said:?}");
    }
    assert!(said.err.contains("wasi:http/outgoing-handler@0.2.3"), "{said:?}");
}

#[test]
fn what_a_policy_does_not_give_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "version = 1\n").unwrap();
    let notes = guest::path("notes");
    let said = hotcell(&["tool", "inspect", notes.to_str().unwrap(), "--policy", policy.to_str().unwrap()]);
    assert!(said.out.contains("without a directory it sees no file"), "{said:?}");
}

#[test]
fn a_compiled_artifact_is_refused_as_a_tool() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precompiled.wasm");
    let artifact = hotcell_tests::call::compile(&hotcell_tests::health::control_tool());
    std::fs::write(&path, artifact.code().read().unwrap()).unwrap();
    for verb in ["inspect", "call"] {
        let said = hotcell(&["tool", verb, path.to_str().unwrap()]);
        assert!(matches!(said.code, Some(1 | 2)), "{said:?}");
        assert!(said.err.contains("expected a WebAssembly component"), "{said:?}");
    }
}

#[test]
fn a_policy_with_mistakes_is_refused_whole_with_every_place_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    std::fs::write(&path, "version = 1\n[defaults]\npermision = \"allow\"\n[run]\nmax_turns = 0\n").unwrap();
    let said = hotcell(&["policy", "check", path.to_str().unwrap()]);
    assert_eq!(said.code, Some(1), "{said:?}");
    for expected in ["policy.toml:3:1", "did you mean `permission`", "policy.toml:5:13", "\"unlimited\""] {
        assert!(said.err.contains(expected), "{expected}: {said:?}");
    }
}

#[test]
fn a_policy_whose_components_offer_one_name_twice_is_no_good() {
    let folder = tempfile::tempdir().unwrap();
    let source = guest::path("text-stats").canonicalize().unwrap();
    let entry = |name: &str| format!("[components.{name}]\nsource = {source:?}\n");
    let path = folder.path().join("policy.toml");
    std::fs::write(&path, format!("version = 1\n{}{}", entry("one"), entry("two"))).unwrap();
    let said = hotcell(&["policy", "check", path.to_str().unwrap()]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("also offers a tool `count`") && said.err.contains("prefix"), "{said:?}");
    std::fs::write(&path, format!("version = 1\n{}{}prefix = \"two_\"\n", entry("one"), entry("two")))
        .unwrap();
    assert_eq!(hotcell(&["policy", "check", path.to_str().unwrap()]).code, Some(0));
}

#[test]
fn the_policies_of_the_examples_are_good() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../example-tools");
    for tool in ["text-stats", "csv-query", "notes", "misbehave"] {
        // The component stands beside its policy, as the policy says.
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy.toml");
        std::fs::copy(examples.join(tool).join("policy.toml"), &policy).unwrap();
        std::fs::copy(guest::path(tool), folder.path().join(format!("{tool}.wasm"))).unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let said = hotcell(&["policy", "check", policy.to_str().unwrap()]);
        assert_eq!(said.code, Some(0), "{tool}: {said:?}");
    }
}

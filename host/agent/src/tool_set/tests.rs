use serde_json::json;

use super::{Offer, ToolSet, ToolSetError};
use crate::host_tool::HostTool;

fn tool(name: &str) -> HostTool {
    HostTool::define(name, "Does it.").unwrap().pure().handler(|_| async { "done" })
}

fn set(names: &[&str]) -> Result<ToolSet, ToolSetError> {
    ToolSet::new(names.iter().map(|name| Offer::new(tool(name), "line")))
}

/// P-68.
#[test]
fn two_tools_of_one_name_are_refused_by_name() {
    let error = set(&["add", "sub", "add"]).unwrap_err();
    assert_eq!(error.to_string(), "two tools are named `add`; give one of them another name or a prefix");
}

#[test]
fn definitions_stand_in_the_order_in_which_tools_were_given() {
    let set = set(&["zeta", "alpha", "mid"]).unwrap();
    let names: Vec<_> = set.definitions().iter().map(|definition| definition.name.to_string()).collect();
    assert_eq!((names, set.len()), (vec!["zeta".into(), "alpha".into(), "mid".into()], 3));
}

// L-02
#[test]
fn close_names_are_suggested_the_closest_first() {
    let set = set(&["read_file", "read_files", "write_file", "add"]).unwrap();
    for (wrong, close) in [
        ("readFile", vec!["read_file", "read_files"]),
        ("read-file", vec!["read_file", "read_files"]),
        ("READ_FILE", vec!["read_file", "read_files"]),
        ("ad", vec!["add"]),
        ("launch", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(set.close_to(wrong), close, "{wrong}");
    }
}

// L-02, L-12
#[test]
fn a_name_is_repaired_to_the_only_tool_it_can_mean_and_to_no_other() {
    let set = set(&["read_file", "write-file", "writeFile", "add", "tools_add", "kelvin", "_"]).unwrap();
    let long = format!("add{}", "_".repeat(10_000));
    for (written, means) in [
        ("add", Some("add")),
        ("ADD", Some("add")),
        ("Read File", Some("read_file")),
        ("readFile", Some("read_file")),
        ("functions.read_file", Some("read_file")),
        ("Functions.ReadFile", Some("read_file")),
        ("default_api:read-file", Some("read_file")),
        ("tools.readfile", Some("read_file")),
        ("writeFile", Some("writeFile")),
        // Two tools have these names.
        ("write_file", None),
        ("tools.add", None),
        // One prefix, at the front, as vendors write it.
        ("functions.functions.add", None),
        ("functions:add", None),
        ("my.functions.add", None),
        ("functions.", None),
        // Look-alikes: a Kelvin sign, a Cyrillic letter, a letter after an override.
        ("\u{212a}elvin", None),
        ("re\u{430}d_file", None),
        ("\u{202e}add", None),
        ("add\n", None),
        ("", None),
        (".", None),
        ("read_fil", None),
        (&long, None),
    ] {
        let found = |repair| set.find(written, repair).map(|slot| slot.definition.name.to_string());
        assert_eq!(found(true).as_deref(), means, "{written}");
        assert_eq!(found(false), found(true).filter(|name| name == written), "{written}");
    }
    let reader = set.with_reader();
    assert!(reader.find("readToolResult", true).is_some() && set.find("readToolResult", true).is_none());
}

/// P-19.
#[test]
fn tools_with_schemas_that_cannot_be_used_are_refused_by_name() {
    let build = |input, output| {
        let tool = HostTool::define("add", "").unwrap().input_schema(input).output_schema(output);
        ToolSet::new([Offer::new(tool.handler(|_| async { "" }), "line")])
    };
    let object = json!({"type": "object"});
    let error = build(json!({"type": "array"}), json!({})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tool `add`: input schema: the schema of arguments has `\"type\": \"object\"` at its root, found \"array\""
    );
    let error = build(object, json!({"$ref": "http://localhost"})).unwrap_err().to_string();
    assert!(error.starts_with("tool `add`: output schema: at `/$ref`: `http://localhost` refers"), "{error}");
}

#[test]
fn more_tools_than_a_model_can_be_offered_are_refused() {
    let names: Vec<_> = (0..=super::MAX_TOOLS).map(|n| format!("t{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert!(matches!(set(&names), Err(ToolSetError::TooMany { found: 1_025 })));
}

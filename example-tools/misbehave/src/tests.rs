//! What can be run natively; the rest belongs into a sandbox.

use hotcell_tool::{Fault, testing};
use serde_json::{Value, json};

use super::*;

fn call(tool: &str, arguments: &Value) -> Result<hotcell_tool::Output, hotcell_tool::Failure> {
    testing::call(&TOOLS, tool, arguments)
}

#[test]
fn no_tool_needs_an_argument() {
    for definition in testing::definitions(&TOOLS) {
        assert_eq!(definition.input_schema.get("required"), None, "{}", definition.name);
    }
}

#[test]
fn harmless_tools_answer() {
    assert_eq!(call("echo", &json!({"text": "hello"})).unwrap().to_text(), "hello");
    assert_eq!(call("echo", &json!({})).unwrap().to_text(), "");
    assert_eq!(call("sleep", &json!({"ms": 0})).unwrap().to_text(), "good morning");
    assert_eq!(call("huge_result", &json!({"bytes": 12})).unwrap().to_text(), "xxxxxxxxxxxx");
    assert_eq!(call("huge_result", &json!({"bytes": 1_u64 << 40})).unwrap_err().fault, Fault::InvalidInput);
}

#[test]
fn memory_that_is_shared_shows_in_the_count() {
    let first: u64 = call("count_calls", &json!({})).unwrap().structured_text().unwrap().parse().unwrap();
    let second: u64 = call("count_calls", &json!({})).unwrap().structured_text().unwrap().parse().unwrap();
    assert!(second > first);
}

#[test]
fn broken_results_are_broken() {
    let output = call("invalid_json", &json!({})).unwrap();
    assert!(serde_json::from_str::<Value>(output.structured_text().unwrap()).is_err());
    assert!(String::from_utf8(invalid_utf8().into_bytes()).is_err());
}

#[test]
fn loot_and_refusals_are_told_apart() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = call("read_outside", &json!({"paths": [file, "/no/such/place"]})).unwrap();
    let loot: Value = serde_json::from_str(output.structured_text().unwrap()).unwrap();
    assert_eq!(loot["read"][0]["path"], file);
    assert!(loot["read"][0]["start"].as_str().unwrap().starts_with("[package]"));
    assert!(loot["refused"][0].as_str().unwrap().starts_with("/no/such/place: "));

    let refused = call("read_outside", &json!({"paths": ["/no/such/place"]})).unwrap_err();
    assert_eq!((refused.fault, refused.code.as_deref()), (Fault::Denied, Some("outside_grants")));
}

#[test]
#[should_panic(expected = "on purpose")]
fn panics_carry_their_message() {
    drop(call("panic", &json!({"message": "on purpose"})));
}

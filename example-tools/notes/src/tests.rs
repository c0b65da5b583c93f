use hotcell_tool::{Fault, testing};
use serde_json::{Value, json};

use super::*;

fn refuse(tool: &str, arguments: &Value) -> Failure {
    testing::call(&TOOLS, tool, arguments).unwrap_err()
}

#[test]
fn hints_say_which_tools_change_something() {
    let hints: Vec<_> = testing::definitions(&TOOLS)
        .into_iter()
        .map(|tool| (tool.name, tool.hints.read_only, tool.hints.destructive))
        .collect();
    let read_only = |name: &str| (name.to_owned(), Some(true), None);
    assert_eq!(
        hints,
        [read_only("list"), read_only("read"), ("write".into(), None, Some(true)), read_only("search")]
    );
}

#[test]
fn wrong_arguments_are_refused_before_the_directory_is_touched() {
    assert_eq!(refuse("read", &json!({"name": "../../etc/passwd"})).code.as_deref(), Some("name"));
    assert_eq!(refuse("write", &json!({"name": "a/b", "text": ""})).code.as_deref(), Some("name"));
    assert_eq!(refuse("search", &json!({"text": " "})).fault, Fault::InvalidInput);
    assert_eq!(refuse("search", &json!({"text": "a", "limit": 201})).fault, Fault::InvalidInput);
    let mode = refuse("write", &json!({"name": "a", "text": "", "mode": "overwrite"}));
    assert!(mode.message.contains("`mode`") && mode.message.contains("replace"), "{}", mode.message);
}

use hotcell_tool::{Failure, testing};
use serde_json::{Value, json};

use super::*;

fn call(tool: &str, arguments: &Value) -> Value {
    let output = testing::call(&TOOLS, tool, arguments).unwrap();
    serde_json::from_str(output.structured_text().unwrap()).unwrap()
}

#[test]
fn every_kind_of_text_is_counted() {
    let table = [
        ("", json!({"lines": 0, "words": 0, "chars": 0, "bytes": 0})),
        ("a", json!({"lines": 1, "words": 1, "chars": 1, "bytes": 1})),
        ("to be\nor not\n", json!({"lines": 2, "words": 4, "chars": 13, "bytes": 13})),
        ("Käse  \t 🧀\r\n\r\nx", json!({"lines": 3, "words": 3, "chars": 14, "bytes": 18})),
    ];
    for (text, expected) in table {
        assert_eq!(call("count", &json!({ "text": text })), expected, "{text:?}");
    }
}

#[test]
fn frequent_words_come_first_and_equal_ones_in_alphabetical_order() {
    let text = "Be it so: to be, or not to be? «Or» — to be.";
    assert_eq!(
        call("top_words", &json!({"text": text, "limit": 3})),
        json!({"distinct": 6, "top": [
            {"word": "be", "count": 4},
            {"word": "to", "count": 3},
            {"word": "or", "count": 2},
        ]})
    );
    assert_eq!(call("top_words", &json!({"text": text, "min_chars": 3}))["distinct"], 1);
    assert_eq!(call("top_words", &json!({"text": text, "limit": 0}))["top"], json!([]));
}

#[test]
fn wrong_arguments_name_their_place() {
    let error = |tool, arguments: Value| testing::call(&TOOLS, tool, &arguments).unwrap_err();
    assert_eq!(
        error("top_words", json!({"text": "a", "limit": 1001})),
        Failure::invalid_input("`limit` is 1001, at most 1000 are possible").advice("ask for fewer words")
    );
    assert!(error("top_words", json!({"text": "a", "limit": -1})).message.contains("`limit`"));
    assert!(error("count", json!({"txt": "a"})).message.contains("`txt`"));
}

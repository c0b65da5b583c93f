use hotcell_core::outcome::Outcome;
use serde_json::{Value, json};

use super::{HostTool, IntoReport};

/// P-29.
#[test]
fn what_a_handler_returns_becomes_a_report() {
    let text = "x".into_report();
    assert_eq!((text.outcome, text.content[0].to_text()), (Outcome::Ok, "x".into()));
    let value = json!({"a": 1}).into_report();
    assert_eq!((value.structured, value.content[0].to_text()), (Some(json!({"a": 1})), r#"{"a":1}"#.into()));
    let error = Err::<Value, _>("no such row").into_report();
    assert_eq!((error.outcome, error.guest_message.as_deref()), (Outcome::ToolError, Some("no such row")));
}

/// P-19.
#[test]
fn a_name_no_vendor_accepts_is_refused() {
    assert!(HostTool::define("add numbers", "").is_err());
}

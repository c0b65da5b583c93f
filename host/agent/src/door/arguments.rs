//! From the text a model wrote to arguments a tool may see.

use hotcell_core::call::CallReport;
use hotcell_core::outcome::Outcome;
use serde_json::{Map, Value};

use super::duplicates::first_duplicate;
use crate::schema::{MAX_VALUE_DEPTH, Schema, depth_is_at_most};
use crate::wording::quote;

/// Most errors that are told of one set of arguments.
const MAX_ERRORS: usize = 10;

/// Reads and checks arguments: a cap in bytes before anything is parsed, one JSON object, not too
/// deep, and what the schema says. No value is changed, coerced or added on the way.
pub(super) fn read(text: &str, max_bytes: usize, schema: &Schema) -> Result<Value, Box<CallReport>> {
    if text.len() > max_bytes {
        let message = format!("The arguments have {} bytes, at most {max_bytes} are allowed.", text.len());
        return Err(invalid(message, "Send less in one call."));
    }
    let value = parse(text)?;
    if let Err(errors) = schema.check(&value, text.len(), MAX_ERRORS) {
        let message = format!("The arguments do not match the input schema: {}.", errors.join("; "));
        return Err(invalid(message, "Correct the arguments at the places named and call again."));
    }
    Ok(value)
}

/// Reads arguments without checking them against a schema.
pub(super) fn parse(text: &str) -> Result<Value, Box<CallReport>> {
    if text.trim_ascii().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let advice = "Send one JSON object and nothing around it.";
    let value: Value = serde_json::from_str(text).map_err(|error| {
        invalid(format!("The arguments are not JSON: {}.", quote(&error.to_string())), advice)
    })?;
    if !depth_is_at_most(&value, MAX_VALUE_DEPTH) {
        let message = format!("The arguments are nested deeper than {MAX_VALUE_DEPTH} levels.");
        return Err(invalid(message, "Send flatter arguments."));
    }
    if let Some(place) = first_duplicate(text) {
        let message = format!("The arguments have a key twice in one object: `{}`.", quote(&place));
        return Err(invalid(message, "Send each key once."));
    }
    let found = match &value {
        Value::Object(_) => return Ok(value),
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
    };
    Err(invalid(format!("The arguments are {found}, expected a JSON object."), advice))
}

fn invalid(message: String, advice: &str) -> Box<CallReport> {
    Box::new(CallReport::new(Outcome::InvalidArgs, message).with_advice(advice))
}

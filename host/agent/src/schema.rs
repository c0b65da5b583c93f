//! JSON Schemas nobody has to trust: bounded, offline, and compiled once.

mod bounds;
mod work;

use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use thiserror::Error;

use crate::wording::quote;

pub use self::bounds::{MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, MAX_SCHEMA_REFS};

/// Deepest nesting of a value that is checked; deeper ones are refused.
///
/// Stops values built to overflow the stack of whoever walks them next.
pub const MAX_VALUE_DEPTH: usize = 64;

/// Bytes one compiled pattern may take, and its cache of states as well.
///
/// Stops `[a-z]{1000}{1000}`; patterns run in linear time, and this bounds the factor.
const PATTERN_BYTES: usize = 256 << 10;

/// Schema weight times value bytes that one check may come to, for what patterns and lists cost.
///
/// A check is not interrupted, so this bounds how long it can hold a thread.
const MAX_WORK: u64 = 1_000_000_000;

/// How often schemas may be applied in one check, for what references and alternatives cost.
///
/// Stops `anyOf` of two references to the root, which doubles with every level of the value.
const MAX_STEPS: usize = 500_000;

/// How often schemas may be applied when errors are collected: the validator keeps an error for each.
const MAX_STEPS_FOR_ERRORS: usize = 20_000;

/// Says why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is larger than what is allowed.
    #[error("schema has {found} {what}, at most {limit} are allowed")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// How many were found; counting stops soon after the limit.
        found: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// It refers to something outside of itself.
    #[error(
        "at `{path}`: `{reference}` refers to something outside of the schema; only references that start with `#` are followed"
    )]
    ForeignReference {
        /// Where, as a JSON pointer.
        path: String,
        /// The reference, capped and escaped.
        reference: String,
    },
    /// A reference leads nowhere, or by a way that is not followed.
    #[error(
        "at `{path}`: `{reference}` leads to no place in the schema; write `#` or a JSON pointer such as `#/$defs/name`"
    )]
    UnknownReference {
        /// Where, as a JSON pointer.
        path: String,
        /// The reference, capped and escaped.
        reference: String,
    },
    /// A part of it has an id of its own, which changes what references mean.
    #[error("at `{path}`: only the root of the schema may have an `$id`")]
    InnerId {
        /// Where, as a JSON pointer.
        path: String,
    },
    /// Its references and alternatives lead back to themselves, or multiply.
    #[error("schema unfolds into more than {MAX_STEPS_FOR_ERRORS} steps for a single value")]
    Unfolds,
    /// It is no schema of draft 2020-12.
    #[error("at `{path}`: not a JSON Schema of draft 2020-12: {message}")]
    Invalid {
        /// Where, as a JSON pointer.
        path: String,
        /// What is wrong, capped and escaped.
        message: String,
    },
    /// The arguments of a tool are an object, so its schema says so.
    #[error("the schema of arguments has `\"type\": \"object\"` at its root, found {found}")]
    NotAnObject {
        /// What was found.
        found: String,
    },
}

/// A schema that was checked and compiled.
#[derive(Debug, Clone)]
pub struct Schema {
    validator: Validator,
    schema: Arc<Value>,
    max_bytes: u64,
}

impl Schema {
    /// Compiles a schema: draft 2020-12, nothing fetched, patterns in linear time, no formats asserted.
    ///
    /// # Errors
    /// [`SchemaError`] names the rule that was broken and the place.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let weight = bounds::check(schema)?;
        if work::steps(schema, &Value::Null, MAX_STEPS_FOR_ERRORS).is_none() {
            return Err(SchemaError::Unfolds);
        }
        let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| SchemaError::Invalid {
                path: error.instance_path().to_string(),
                message: quote(&error.to_string()),
            })?;
        Ok(Self { validator, schema: Arc::new(schema.clone()), max_bytes: MAX_WORK / weight })
    }

    /// Compiles the schema of a tool's arguments.
    ///
    /// # Errors
    /// As [`Schema::compile`], and when the root is not an object.
    pub fn compile_arguments(schema: &Value) -> Result<Self, SchemaError> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            let found =
                schema.get("type").map_or_else(|| "no `type`".to_owned(), |found| quote(&found.to_string()));
            return Err(SchemaError::NotAnObject { found });
        }
        Self::compile(schema)
    }

    /// Checks a value that took `bytes` bytes as text. Nothing is coerced and no default is inserted.
    ///
    /// # Errors
    /// At most `max_errors` texts, each with the place in the value and what was expected there.
    pub fn check(&self, value: &Value, bytes: usize, max_errors: usize) -> Result<(), Vec<String>> {
        if !depth_is_at_most(value, MAX_VALUE_DEPTH) {
            return Err(vec![format!("nested deeper than {MAX_VALUE_DEPTH} levels")]);
        }
        if u64::try_from(bytes).unwrap_or(u64::MAX) > self.max_bytes {
            return Err(vec![format!(
                "{bytes} bytes are too many to check against a schema of this size, at most {} are",
                self.max_bytes
            )]);
        }
        if work::steps(&self.schema, value, MAX_STEPS).is_none() {
            return Err(vec!["too large or too ambiguous to check against this schema".to_owned()]);
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let mut errors = Vec::new();
        if work::steps(&self.schema, value, MAX_STEPS_FOR_ERRORS).is_some() {
            let all = self.validator.iter_errors(value);
            errors.extend(all.take(max_errors.max(1)).map(|error| describe(&error)));
        }
        if errors.is_empty() {
            errors.push("does not match the schema".to_owned());
        }
        Err(errors)
    }
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place =
        if path.is_empty() { "at the top level".to_owned() } else { format!("at `{}`", quote(&path)) };
    format!("{place}: {}", quote(&error.to_string()))
}

/// Whether no value stands deeper than `limit` levels; walks without recursion.
#[must_use]
pub fn depth_is_at_most(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 1_usize)];
    while let Some((value, depth)) = open.pop() {
        if depth > limit {
            return false;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    true
}

#[cfg(test)]
mod tests;

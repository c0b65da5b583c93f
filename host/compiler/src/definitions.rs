//! The section of a component that says which tools it has, so that listing them never runs guest code.
//!
//! A custom section named [`SECTION`] at the top level of the component, exactly one, at most
//! [`MAX_SECTION_BYTES`] long: a JSON array of [`Definition`]s in canonical form (RFC 8785), so that one
//! list of tools has one sequence of bytes.

use std::collections::BTreeSet;

use hotcell_core::canonical::to_canonical;
use hotcell_core::tool::Definition;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::error::{LoadError, quote};
use crate::inspect::{Found, find_sections};
use crate::layout::replace_custom;
use crate::recognise::recognise;

/// The name of the section.
pub const SECTION: &str = "hotcell:definitions";

/// Bytes of the section's content; stops a component that makes listing its tools expensive.
pub const MAX_SECTION_BYTES: usize = 256 << 10;

/// Tools of one component.
pub const MAX_TOOLS: usize = 256;

/// Says what is wrong with the section.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DefinitionsError {
    /// There is more than one.
    #[error("expected one section, found {found}")]
    Several {
        /// How many at the top level.
        found: usize,
    },
    /// It stands inside of a nested component or module only.
    #[error("it stands inside of a nested component, where it says nothing about this one")]
    Nested,
    /// It is too large.
    #[error("it has {bytes} bytes, at most {MAX_SECTION_BYTES} are allowed")]
    TooLarge {
        /// Bytes found.
        bytes: usize,
    },
    /// It is not JSON, or not the JSON of definitions.
    #[error("it is not a JSON array of definitions: {reason}")]
    NotDefinitions {
        /// What was expected and where, escaped and capped.
        reason: String,
    },
    /// Another sequence of bytes would say the same.
    #[error("its JSON is not in canonical form (RFC 8785)")]
    NotCanonical,
    /// It has no tool, or too many.
    #[error("expected 1 to {MAX_TOOLS} tools, found {found}")]
    Count {
        /// How many.
        found: usize,
    },
    /// Two tools have one name.
    #[error("two tools are called `{name}`")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A schema cannot describe what it should.
    #[error("the {schema} of the tool `{name}` is wrong: {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// Which schema.
        schema: String,
        /// Expected and found, escaped and capped.
        reason: String,
    },
}

impl DefinitionsError {
    /// What to do about it.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Several { .. } | Self::Nested | Self::NotDefinitions { .. } | Self::NotCanonical => {
                "run `hotcell tool build` again, which writes the section anew"
            }
            Self::TooLarge { .. } | Self::Count { .. } => {
                "shorten the descriptions, schemas and examples, or split the tools into several components"
            }
            Self::DuplicateName { .. } => "give each tool of a component a name of its own and build again",
            Self::Schema { .. } => "let the tool take one JSON object (a struct in Rust) and build again",
        }
    }
}

impl From<DefinitionsError> for LoadError {
    fn from(error: DefinitionsError) -> Self {
        Self::Definitions(error)
    }
}

/// Reads the definitions embedded in a component; none when it has no such section.
///
/// # Errors
/// [`LoadError`] when the bytes are no component, or the section is not as the module says.
pub fn read_definitions(component: &[u8]) -> Result<Option<Vec<Definition>>, LoadError> {
    recognise(component)?;
    let found = find_sections(component, SECTION)?;
    Ok(from_sections(&found)?)
}

/// The definitions in the sections that were found.
pub(crate) fn from_sections(found: &Found<'_>) -> Result<Option<Vec<Definition>>, DefinitionsError> {
    match (found.first, found.top) {
        (None, _) if found.nested == 0 => Ok(None),
        (None, _) => Err(DefinitionsError::Nested),
        (Some(one), 1) => parse(one).map(Some),
        (Some(_), several) => Err(DefinitionsError::Several { found: several }),
    }
}

/// Writes the definitions into a component, in place of those it may have.
///
/// # Errors
/// [`LoadError`] when the bytes are no component, or the definitions break a rule of the section.
pub fn embed_definitions(component: &[u8], definitions: &[Definition]) -> Result<Vec<u8>, LoadError> {
    recognise(component)?;
    check(definitions)?;
    let content = serde_json::to_value(definitions).map_err(|error| not_definitions(&error.to_string()))?;
    let content = to_canonical(&content).map_err(|error| not_definitions(&error.to_string()))?;
    if content.len() > MAX_SECTION_BYTES {
        return Err(DefinitionsError::TooLarge { bytes: content.len() }.into());
    }
    let embedded = replace_custom(component, SECTION, content.as_bytes())?;
    // What was written can be read, or nothing is returned.
    match read_definitions(&embedded)? {
        Some(_) => Ok(embedded),
        None => Err(not_definitions("the section is not there after writing it").into()),
    }
}

fn parse(content: &[u8]) -> Result<Vec<Definition>, DefinitionsError> {
    if content.len() > MAX_SECTION_BYTES {
        return Err(DefinitionsError::TooLarge { bytes: content.len() });
    }
    let value: Value =
        serde_json::from_slice(content).map_err(|error| not_definitions(&error.to_string()))?;
    let canonical = to_canonical(&value).map_err(|error| not_definitions(&error.to_string()))?;
    if canonical.as_bytes() != content {
        return Err(DefinitionsError::NotCanonical);
    }
    // From the text and not from the value, because only then the error says where.
    let definitions: Vec<Definition> =
        serde_json::from_slice(content).map_err(|error| not_definitions(&error.to_string()))?;
    check(&definitions)?;
    Ok(definitions)
}

fn check(definitions: &[Definition]) -> Result<(), DefinitionsError> {
    if definitions.is_empty() || definitions.len() > MAX_TOOLS {
        return Err(DefinitionsError::Count { found: definitions.len() });
    }
    let mut names = BTreeSet::new();
    for definition in definitions {
        if !names.insert(&definition.name) {
            return Err(DefinitionsError::DuplicateName { name: definition.name.to_string() });
        }
        let wrong = |schema: &str, reason: String| DefinitionsError::Schema {
            name: definition.name.to_string(),
            schema: schema.to_owned(),
            reason,
        };
        object_at_root(&definition.input_schema).map_err(|reason| wrong("input schema", reason))?;
        if let Some(schema) = definition.output_schema.as_ref().filter(|schema| !schema.is_object()) {
            return Err(wrong("output schema", format!("expected a JSON object, found {}", kind(schema))));
        }
    }
    Ok(())
}

/// Models give arguments as one object, so the schema has to describe one.
fn object_at_root(schema: &Value) -> Result<(), String> {
    let Value::Object(keywords) = schema else {
        return Err(format!("expected a JSON object, found {}", kind(schema)));
    };
    match keywords.get("type") {
        Some(Value::String(root)) if root == "object" => Ok(()),
        Some(other) => Err(format!(
            "expected `\"type\": \"object\"` at the root, found type {}",
            quote(&other.to_string())
        )),
        None => Err("expected `\"type\": \"object\"` at the root, found no type".to_owned()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn not_definitions(reason: &str) -> DefinitionsError {
    DefinitionsError::NotDefinitions { reason: quote(reason) }
}

#[cfg(test)]
mod tests;

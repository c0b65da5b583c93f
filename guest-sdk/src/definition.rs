//! What a host and a model are told about a tool.

use std::time::Duration;

use serde_json::Value;

/// What a host and a model are told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The name a model calls: `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// What the tool does, for the model.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments, an object at the root.
    pub input_schema: Value,
    /// JSON Schema of the structured result; none for tools that return text.
    pub output_schema: Option<Value>,
    /// Claims of the author.
    pub hints: Hints,
    /// How long a call should take at most; a host can lower its limit to it and never raises it.
    pub timeout: Option<Duration>,
    /// Example arguments, each one JSON text.
    pub examples: Vec<String>,
}

/// What an author claims of a tool; absent means the worst case, and nothing is granted because of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// Changes nothing.
    pub read_only: Option<bool>,
    /// May destroy something.
    pub destructive: Option<bool>,
    /// Calling twice is the same as calling once.
    pub idempotent: Option<bool>,
    /// Touches the world beyond its own data.
    pub open_world: Option<bool>,
}

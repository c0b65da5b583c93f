//! Calling tools in native tests the way a host does: by name, with JSON.
//!
//! What is not covered: a host also checks the arguments against the input schema, and limits time and
//! memory; here a call runs unlimited in the test's own thread.

use std::time::Duration;

use serde_json::Value;

use crate::context::Context;
use crate::definition::Definition;
use crate::failure::Failure;
use crate::log::Level;
use crate::native::{Recording, record};
use crate::output::Output;
use crate::tool_set::ToolSet;

/// Calls one tool.
///
/// ```
/// use hotcell_tool::{testing, tool};
///
/// /// Greet somebody.
/// #[tool(read_only)]
/// fn greet(name: String) -> String {
///     format!("Hello, {name}!")
/// }
///
/// hotcell_tool::component!(greet);
/// # fn main() {
/// let output = testing::call(&TOOLS, "greet", &serde_json::json!({"name": "Ada"})).unwrap();
/// assert_eq!(output.to_text(), "Hello, Ada!");
/// # }
/// ```
///
/// # Errors
/// The failure a host would see.
pub fn call(tools: &ToolSet, name: &str, arguments: &Value) -> Result<Output, Failure> {
    Call::new(tools, name, arguments).run().result
}

/// The definitions a host would see.
///
/// # Panics
/// When a host would refuse them: an input schema that is not an object at its root.
#[must_use]
pub fn definitions(tools: &ToolSet) -> Vec<Definition> {
    let definitions = tools.definitions();
    for Definition { name, input_schema, .. } in &definitions {
        let root = input_schema.get("type").and_then(Value::as_str);
        assert!(
            root == Some("object"),
            "the arguments of tool `{name}` are not an object, but {input_schema}; take a struct or plain parameters"
        );
    }
    definitions
}

/// One call with everything a host could choose.
#[derive(Debug)]
pub struct Call<'a> {
    tools: &'a ToolSet,
    name: &'a str,
    arguments: String,
    context: Context,
    recording: Recording,
}

/// What one call left behind.
#[derive(Debug)]
#[non_exhaustive]
pub struct Called {
    /// What the tool returned.
    pub result: Result<Output, Failure>,
    /// Its notes in their order, the first 10,000.
    pub logs: Vec<LogRecord>,
    /// Its progress reports in their order, the first 10,000.
    pub progress: Vec<ProgressReport>,
}

/// A note.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogRecord {
    /// How important it is.
    pub level: Level,
    /// Its text.
    pub message: String,
    /// Its named values.
    pub fields: Vec<(String, String)>,
}

/// A progress report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgressReport {
    /// Units done.
    pub done: u64,
    /// Units in all.
    pub total: Option<u64>,
    /// A few words.
    pub note: Option<String>,
}

impl<'a> Call<'a> {
    /// A call of the tool with this name.
    #[must_use]
    pub fn new(tools: &'a ToolSet, name: &'a str, arguments: &Value) -> Self {
        Self::with_text(tools, name, arguments.to_string())
    }

    /// A call with arguments that need not be JSON.
    #[must_use]
    pub fn with_text(tools: &'a ToolSet, name: &'a str, arguments: impl Into<String>) -> Self {
        Self {
            tools,
            name,
            arguments: arguments.into(),
            context: Context::new("test"),
            recording: Recording::default(),
        }
    }

    /// The same call with this context.
    #[must_use]
    pub fn context(mut self, context: Context) -> Self {
        self.context = context;
        self
    }

    /// The same call, told that this much time is left.
    #[must_use]
    pub fn remaining(mut self, remaining: Duration) -> Self {
        self.recording.remaining = Some(remaining);
        self
    }

    /// The same call, told that its caller has given up.
    #[must_use]
    pub fn cancelled(mut self) -> Self {
        self.recording.cancelled = true;
        self
    }

    /// Runs the call.
    #[must_use]
    pub fn run(self) -> Called {
        let Self { tools, name, arguments, context, recording } = self;
        let (result, recording) = record(recording, || tools.call(name, &arguments, &context));
        Called { result, logs: recording.logs, progress: recording.progress }
    }
}

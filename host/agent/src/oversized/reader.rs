//! The tool that reads kept results.

use std::sync::Arc;

use futures::future::BoxFuture;
use hotcell_core::call::CallReport;
use hotcell_core::ids::ToolName;
use hotcell_core::outcome::Outcome;
use hotcell_core::results::{KeptResults, ResultHandle};
use hotcell_core::tool::{CallContext, Definition, Hints, Tool, ToolKind};
use serde_json::{Value, json};

use super::search::{self, MAX_PATTERN_CHARS};
use super::window::{self, Asked, MAX_LINES};
use crate::wording::quote;

/// The name the tool is offered by.
pub const READER_NAME: &str = "read_tool_result";

/// Reads results of this run that were too large for the model. It reaches nothing else, so it never asks.
#[derive(Debug)]
pub struct ReadToolResult {
    definition: Definition,
}

impl Default for ReadToolResult {
    fn default() -> Self {
        Self::new()
    }
}

impl ReadToolResult {
    /// The tool. It has no state: which results there are is part of each call.
    ///
    /// # Panics
    /// Never: its name satisfies the rules for tool names.
    #[must_use]
    pub fn new() -> Self {
        let definition = Definition {
            name: ToolName::parse(READER_NAME).expect("a constant that satisfies the rules for tool names"),
            title: None,
            description: "Reads a result of this run that was too large to show whole. Without a pattern it \
                gives the part from `offset` and `char_offset` on; with one, the passages that match it and where \
                they are."
                .to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "result_id": {"type": "string", "description": "The id from the note in front of the result."},
                    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first line, from 0."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "default": MAX_LINES, "description": "Most lines."},
                    "char_offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Characters to skip from the start of that line."},
                    "max_chars": {"type": "integer", "minimum": 0, "default": 0, "description": "Most characters; 0 is as many as fit."},
                    "pattern": {"type": "string", "maxLength": MAX_PATTERN_CHARS, "default": "", "description": "A regular expression, without regard to case."}
                },
                "required": ["result_id"],
                "additionalProperties": false
            }),
            output_schema: None,
            hints: Hints {
                read_only: Some(true),
                destructive: Some(false),
                idempotent: Some(true),
                open_world: Some(false),
            },
            timeout_ms: None,
            examples: Vec::new(),
        };
        Self { definition }
    }
}

impl Tool for ReadToolResult {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Host
    }

    fn reaches_outside(&self) -> bool {
        false
    }

    fn call<'a>(&'a self, ctx: &'a CallContext, arguments: &'a Value) -> BoxFuture<'a, CallReport> {
        Box::pin(async move {
            match answer(ctx.results.as_ref(), arguments).await {
                Ok(text) => CallReport::text(text),
                Err(message) => CallReport::new(Outcome::ToolError, message)
                    .with_advice("Use an id and a place that a note in front of a result names."),
            }
        })
    }
}

async fn answer(results: Option<&KeptResults>, arguments: &Value) -> Result<String, String> {
    let results = results.ok_or("No results are kept here.")?;
    let number = |name: &str, default: usize| match arguments.get(name) {
        None => Ok(default),
        Some(value) => value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| format!("`{name}` is too large or not written as a whole number.")),
    };
    let asked = Asked {
        offset: number("offset", 0)?,
        limit: number("limit", MAX_LINES)?.clamp(1, MAX_LINES),
        char_offset: number("char_offset", 0)?,
        max_chars: number("max_chars", 0)?,
    };
    let id = arguments.get("result_id").and_then(Value::as_str).unwrap_or_default();
    let unknown = || format!("No result of this run has the id `{}`.", quote(id));
    let handle = ResultHandle::parse(id).map_err(|_no_handle| unknown())?;
    let text =
        results.read(handle.clone()).await.map_err(|error| format!("The result cannot be read: {error}."))?;
    let text = text.ok_or_else(unknown)?;
    let pattern = arguments.get("pattern").and_then(Value::as_str).unwrap_or_default().to_owned();
    let max_chars = results.max_chars();
    // Off the threads that drive runs: a large text takes a while to walk.
    tokio::task::spawn_blocking(move || read(&text, &handle, &asked, &pattern, max_chars))
        .await
        .map_err(|_gone| "The program is shutting down.".to_owned())?
}

fn read(
    text: &Arc<str>,
    handle: &ResultHandle,
    asked: &Asked,
    pattern: &str,
    max_chars: usize,
) -> Result<String, String> {
    if pattern.is_empty() {
        return window::read(text, handle, asked, max_chars).map(|window| window.text);
    }
    search::read(text, handle, asked, pattern, max_chars)
}

//! A script that plays a model: one reply per line, with values taken from what the tools returned.
//!
//! ```text
//! # Lines that start with # and blank lines are skipped.
//! {"text": "Let me look.", "calls": [{"name": "sum", "args": {"column": "total"}}]}
//! {"text": "The total is {{calls[0].structured.sum}}."}
//! ```
//!
//! A path in `{{...}}` starts at `calls`, the tool results of the conversation in their order; `calls[-1]` is
//! the newest. Each has `name`, `outcome` (`null` when the call was never dispatched), `ok`, `text` and
//! `structured`, which is the JSON beside the text, or the text itself where that is JSON. A string in `args` that is nothing but one path keeps the type of the value; inside of longer
//! strings, values are printed.

mod line;
mod results;
mod template;

use futures::FutureExt as _;
use futures::stream::{self, BoxStream, StreamExt as _};
use hotcell_core::message::{Message, ToolCall, Transcript};
use hotcell_core::model::{Model, ModelError, ModelEvent, ModelReply, ModelRequest, TokenUsage};
use hotcell_core::text::escape_control;
use thiserror::Error;

use self::line::Line;
use self::results::Results;

/// Longest script in bytes.
pub const MAX_SCRIPT_BYTES: usize = 1 << 20;

/// Longest reply in bytes after its paths were replaced; results can be long, and a line can repeat them.
pub const MAX_SCRIPT_REPLY_BYTES: usize = 4 << 20;

/// Says what is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("script `{file}`, line {line}: {message}")]
pub struct ScriptError {
    /// What the script was called, escaped.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What was expected and what was found.
    pub message: String,
}

/// The replies of a scripted model.
///
/// It keeps no place of its own: the next reply is the one after as many replies as the conversation has,
/// so a run that is stored, loaded and continued goes on with the right line.
#[derive(Debug, Clone)]
pub struct ScriptFile {
    name: String,
    file: String,
    lines: Vec<Line>,
}

impl ScriptFile {
    /// Reads the text of a script; `file` is what errors call it.
    ///
    /// ```
    /// use hotcell_providers::ScriptFile;
    ///
    /// let script = ScriptFile::parse("# greets\n{\"text\": \"Hello.\"}\n", "hello.jsonl")?;
    /// assert_eq!(script.replies(), 1);
    /// let error = ScriptFile::parse("{\"txt\": \"Hello.\"}", "hello.jsonl").unwrap_err();
    /// assert!(error.to_string().starts_with("script `hello.jsonl`, line 1: unknown field `txt`"));
    /// # Ok::<(), hotcell_providers::ScriptError>(())
    /// ```
    ///
    /// # Errors
    /// The first line that is not a reply, has an unknown key, or has a path that is not one.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScriptError> {
        let file = escape_control(file);
        let error = |line, message| ScriptError { file: file.clone(), line, message };
        if text.len() > MAX_SCRIPT_BYTES {
            let message =
                format!("the script has {} bytes, at most {MAX_SCRIPT_BYTES} are allowed", text.len());
            return Err(error(1, message));
        }
        let mut lines = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let text = text.trim();
            if !text.is_empty() && !text.starts_with('#') {
                lines.push(Line::parse(index + 1, text).map_err(|message| error(index + 1, message))?);
            }
        }
        if lines.is_empty() {
            return Err(error(
                1,
                "expected at least one reply, such as `{\"text\": \"Hello.\"}`, found none".into(),
            ));
        }
        Ok(Self { name: format!("script:{file}"), file, lines })
    }

    /// How many replies the script has.
    #[must_use]
    pub fn replies(&self) -> usize {
        self.lines.len()
    }

    /// The reply that comes next in this conversation.
    ///
    /// # Errors
    /// [`ModelError::Script`] when no line is left, a path leads nowhere, or the reply is longer than
    /// [`MAX_SCRIPT_REPLY_BYTES`].
    pub fn reply(&self, transcript: &Transcript) -> Result<ModelReply, ModelError> {
        let messages = transcript.messages();
        let (mut said, mut called) = (0, 0);
        for message in &messages {
            if let Message::Assistant { calls, .. } = message.as_ref() {
                said += 1;
                called += calls.len();
            }
        }
        let line = self.lines.get(said).ok_or_else(|| ModelError::Script {
            message: format!(
                "`{}` has {} replies and the model was asked once more; add a line, or end with one without calls",
                self.file,
                self.lines.len()
            ),
        })?;
        let filled = line.fill(&Results::of(&messages), MAX_SCRIPT_REPLY_BYTES).map_err(|message| {
            ModelError::Script { message: format!("`{}`, line {}: {message}", self.file, line.number) }
        })?;
        let calls = filled.calls.into_iter().zip(called + 1..).map(|((name, arguments), number)| ToolCall {
            id: format!("call_{number}"),
            name,
            arguments,
        });
        Ok(ModelReply {
            text: filled.text,
            calls: calls.collect(),
            stop: line.stop.clone(),
            usage: TokenUsage::default(),
        })
    }
}

impl Model for ScriptFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        let reply = async move { self.reply(&request.transcript).map(ModelEvent::Reply) };
        stream::once(reply.boxed()).boxed()
    }
}

#[cfg(test)]
mod tests;

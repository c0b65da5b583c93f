//! A model that says what it was told to say, and checks what it is asked.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use futures::stream::{self, BoxStream, StreamExt as _};
use hotcell_core::content::Block;
use hotcell_core::message::{Message, ToolCall, Transcript};
use hotcell_core::model::{Model, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyStop, TokenUsage};

/// Characters a marker may add to a result that was cut at its limit.
const MARKER_CHARS: usize = 64;

/// Longest note of the host in front of a result, in characters; it does not count as a part of it.
const NOTE_CHARS: usize = 500;

/// Plays a model: gives its replies in order, each once, and fails when none is left.
///
/// It checks every request it gets and fails the run when one breaks the rules: each call has exactly
/// one result, in call order; no result is longer than its cap; there is at most one system message,
/// the first; and no forbidden text appears. It keeps the requests; they share their transcripts.
pub struct ScriptedModel {
    name: String,
    max_result_chars: usize,
    forbidden: Vec<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    replies: VecDeque<Result<ModelReply, ModelError>>,
    requests: Vec<ModelRequest>,
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ScriptedModel {
    /// A model with these replies.
    pub fn new(replies: impl IntoIterator<Item = Result<ModelReply, ModelError>>) -> Self {
        let state = State { replies: replies.into_iter().collect(), requests: Vec::new() };
        Self {
            name: "scripted/model".to_owned(),
            max_result_chars: 16_000,
            forbidden: Vec::new(),
            state: Mutex::new(state),
        }
    }

    /// The same model, which takes longer results for a broken cap.
    #[must_use]
    pub fn max_result_chars(mut self, chars: usize) -> Self {
        self.max_result_chars = chars;
        self
    }

    /// The same model, which fails when the text appears anywhere in a request.
    #[must_use]
    pub fn forbid(mut self, text: impl Into<String>) -> Self {
        self.forbidden.push(text.into());
        self
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }

    /// How many replies are left.
    #[must_use]
    pub fn replies_left(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).replies.len()
    }

    fn reply(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let checked = self.check(&request.transcript);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests.push(request);
        let number = state.requests.len();
        checked.map_err(|message| ModelError::Script { message: format!("request {number}: {message}") })?;
        state.replies.pop_front().unwrap_or_else(|| {
            Err(ModelError::Script { message: format!("no reply is left for request {number}") })
        })
    }

    fn check(&self, transcript: &Transcript) -> Result<(), String> {
        let mut open: VecDeque<String> = VecDeque::new();
        for (index, message) in transcript.messages().iter().enumerate() {
            self.check_forbidden(index, message)?;
            match message.as_ref() {
                Message::Tool { call_id, content, .. } => {
                    let expected = open.pop_front();
                    if expected.as_ref() != Some(call_id) {
                        return Err(format!(
                            "message {index} answers call `{call_id}`, expected {expected:?}"
                        ));
                    }
                    self.check_size(index, content)?;
                }
                Message::System { .. } if index > 0 => {
                    return Err(format!("message {index} is a second system message"));
                }
                other => {
                    if let Some(id) = open.front() {
                        return Err(format!("message {index} comes before the answer to call `{id}`"));
                    }
                    if let Message::Assistant { calls, .. } = other {
                        open = calls.iter().map(|call| call.id.clone()).collect();
                    }
                }
            }
        }
        open.front().map_or(Ok(()), |id| Err(format!("call `{id}` has no answer")))
    }

    fn check_size(&self, index: usize, content: &[Block]) -> Result<(), String> {
        let text = |block: &Block| match block {
            Block::Text { text } => Some((text.starts_with("note: "), text.chars().count())),
            _ => None,
        };
        let texts = content.iter().filter_map(text);
        let chars: usize =
            texts.filter(|(note, chars)| !note || *chars > NOTE_CHARS).map(|(_, chars)| chars).sum();
        if chars > self.max_result_chars + MARKER_CHARS {
            return Err(format!(
                "message {index} has {chars} characters, the cap is {}",
                self.max_result_chars
            ));
        }
        Ok(())
    }

    fn check_forbidden(&self, index: usize, message: &Message) -> Result<(), String> {
        if self.forbidden.is_empty() {
            return Ok(());
        }
        let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
        if self.forbidden.iter().any(|forbidden| text.contains(forbidden)) {
            return Err(format!("message {index} holds a forbidden text"));
        }
        Ok(())
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        let reply = self.reply(request).map(ModelEvent::Reply);
        stream::once(async move { reply }).boxed()
    }
}

/// A reply that is only text and ends the run.
pub fn text_reply(text: impl Into<String>) -> ModelReply {
    ModelReply {
        text: Some(text.into()),
        calls: Vec::new(),
        stop: ReplyStop::EndTurn,
        usage: TokenUsage::default(),
    }
}

/// A reply that asks for these calls: id, name, arguments.
pub fn call_reply<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> ModelReply {
    let call = |(id, name, arguments): (&str, &str, &str)| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    ModelReply {
        text: None,
        calls: calls.into_iter().map(call).collect(),
        stop: ReplyStop::ToolUse,
        usage: TokenUsage::default(),
    }
}

#[cfg(test)]
mod tests;

//! The model: a stream of events that ends in one reply.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::ToolName;
use crate::message::{ToolCall, Transcript};
use crate::tool::Definition;

/// A model of some provider, or a script that plays one.
pub trait Model: Send + Sync {
    /// The name, `provider/model`.
    fn name(&self) -> &str;

    /// Asks for one reply.
    ///
    /// The stream ends with exactly one [`ModelEvent::Reply`] or with an error; a model that does not
    /// stream yields the reply alone. Dropping the stream gives up on the request.
    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>>;

    /// What the model can take and give, as far as it is known without asking anybody.
    fn limits(&self) -> ModelLimits {
        ModelLimits::default()
    }

    /// Lets go of connections; whoever made the model does this once, when no run needs it any more.
    fn close(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What a model can take and give, in tokens; `None` is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLimits {
    /// The longest reply.
    pub max_output_tokens: Option<u32>,
    /// The longest prompt and reply together.
    pub context_tokens: Option<u32>,
}

impl fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.name()).finish()
    }
}

/// One request to a model. Cloning it is cheap; the transcript is shared.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The conversation so far, system message included.
    pub transcript: Transcript,
    /// The tools on offer.
    pub tools: Arc<[Definition]>,
    /// Whether the model may call tools.
    pub tool_choice: ToolChoice,
    /// Most tokens of the reply; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature; `None` is left out of the request.
    pub temperature: Option<f64>,
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// It must call a tool.
    Required,
    /// It must call this tool.
    Named(ToolName),
    /// It must answer without a call.
    None,
}

/// What a model says while it works.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// More of the text.
    TextDelta(String),
    /// More of the thinking.
    ThinkingDelta(String),
    /// The whole reply; the last event.
    Reply(ModelReply),
}

/// One whole reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text, when there is any.
    pub text: Option<String>,
    /// The tool calls asked for.
    pub calls: Vec<ToolCall>,
    /// Why the reply ended.
    pub stop: ReplyStop,
    /// Tokens used.
    pub usage: TokenUsage,
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplyStop {
    /// The model had nothing more to say.
    EndTurn,
    /// The model wants tools to run.
    ToolUse,
    /// The reply was cut at its token limit.
    MaxTokens,
    /// A stop sequence was met.
    StopSequence,
    /// The model declined.
    Refusal,
    /// A filter of the provider stopped it.
    Safety,
    /// The provider paused the turn and wants it sent back.
    PauseTurn,
    /// Something else, in the provider's words.
    Other(String),
}

impl ReplyStop {
    /// Whether calls in such a reply may run: a cut or filtered reply may hold half a call.
    #[must_use]
    pub const fn allows_calls(&self) -> bool {
        match self {
            Self::EndTurn | Self::ToolUse | Self::StopSequence | Self::PauseTurn | Self::Other(_) => true,
            Self::MaxTokens | Self::Refusal | Self::Safety => false,
        }
    }
}

/// Tokens one or more replies used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// All tokens of the prompt, cached ones included.
    pub input_tokens: u64,
    /// All tokens of the reply, thinking included.
    pub output_tokens: u64,
    /// Of the input, tokens read from a cache.
    pub cache_read_tokens: u64,
    /// Of the input, tokens written to a cache.
    pub cache_write_tokens: u64,
}

impl TokenUsage {
    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
        }
    }
}

/// Says why a model gave no reply. The texts never hold a key.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelError {
    /// The provider answered with an error, or could not be reached.
    #[error("provider failed: {message}")]
    Provider {
        /// What the provider said, capped.
        message: String,
        /// The HTTP status, when there was an answer.
        status: Option<u16>,
    },
    /// The reply is not one: wrong role, duplicate or empty call ids, no terminal event.
    #[error("malformed reply: {message}")]
    Malformed {
        /// What is wrong.
        message: String,
    },
    /// A call of the reply could not be read, and it is not known whose it is.
    #[error("unreadable call: {message}")]
    UnreadableCall {
        /// What could not be read.
        message: String,
    },
    /// A script has no reply left, or asks for a value that does not exist.
    #[error("script: {message}")]
    Script {
        /// What is wrong, with file and line.
        message: String,
    },
}

//! What a run starts from.

use std::time::Duration;

use hotcell_core::config::ConfigErrors;
use hotcell_core::content::Block;
use hotcell_core::ids::RunId;
use hotcell_core::limits::Limits;
use hotcell_core::message::{Message, Transcript};
use hotcell_core::model::ToolChoice;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::schema::{Schema, SchemaError};

/// Longest run id in bytes, so that ids made from it stay within the limit for ids.
pub const MAX_RUN_ID_BYTES: usize = 160;

/// What stays the same for a whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSetup {
    /// The run.
    pub run: RunId,
    /// What caps it.
    pub limits: Limits,
    /// JSON Schema of the answer, when the answer is to be JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Whether the model may or must call tools. What it must is asked of the first turn only: a model
    /// that must call a tool each time could never answer.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// Most tokens of the first reply; `None` leaves it to the provider.
    #[serde(default)]
    pub max_output_tokens: Option<u32>,
    /// The most a reply may be raised to after it was cut; `None` when the model's own maximum is not known.
    #[serde(default)]
    pub model_output_tokens: Option<u32>,
    /// Bytes of the definitions of the tools on offer, for the estimate of a prompt's cost.
    #[serde(default)]
    pub definition_bytes: u64,
}

impl RunSetup {
    /// A run with these limits and nothing else that is special.
    #[must_use]
    pub const fn new(run: RunId, limits: Limits) -> Self {
        Self {
            run,
            limits,
            output_schema: None,
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            model_output_tokens: None,
            definition_bytes: 0,
        }
    }
}

/// What a run is given to work on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInput {
    /// What the operator tells the model; used when there is no history.
    pub system: Option<String>,
    /// The conversation so far; it is shared and never changed.
    pub history: Transcript,
    /// What is asked.
    pub prompt: Vec<Block>,
}

/// Says why a run cannot start. Nothing was asked of a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The run id is too long to make ids from.
    #[error("run id has {found} bytes, at most {MAX_RUN_ID_BYTES} are allowed")]
    RunId {
        /// Bytes found.
        found: usize,
    },
    /// The limits have values that cannot be.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The prompt has no content.
    #[error("the prompt is empty; expected at least one block of content")]
    EmptyPrompt,
    /// The history has a system message at another place than the first.
    #[error("message {index} of the history is a system message; only the first may be one")]
    SystemMessage {
        /// Where it is, from 0.
        index: usize,
    },
    /// The output schema cannot be used.
    #[error("output schema: {0}")]
    OutputSchema(#[source] SchemaError),
}

/// Checks what cannot be said by types, and rounds times up to the whole milliseconds that are stored.
pub(super) fn check(setup: &mut RunSetup, input: &RunInput) -> Result<(), SetupError> {
    let found = setup.run.as_str().len();
    if found > MAX_RUN_ID_BYTES {
        return Err(SetupError::RunId { found });
    }
    setup.limits.check()?;
    setup.limits.max_time = setup.limits.max_time.map(round_up);
    setup.limits.host_tool_timeout = round_up(setup.limits.host_tool_timeout);
    if input.prompt.is_empty() {
        return Err(SetupError::EmptyPrompt);
    }
    let later = input.history.messages();
    let second = later.iter().skip(1).position(|message| matches!(message.as_ref(), Message::System { .. }));
    if let Some(position) = second {
        return Err(SetupError::SystemMessage { index: position + 1 });
    }
    if let Some(schema) = &setup.output_schema {
        Schema::compile(schema).map_err(SetupError::OutputSchema)?;
    }
    Ok(())
}

fn round_up(time: Duration) -> Duration {
    let whole = whole_millis(time);
    if whole < time { whole.saturating_add(Duration::from_millis(1)) } else { whole }
}

/// The time without the part below a millisecond, which a stored run does not keep.
pub(super) fn whole_millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

//! A tool with which a model asks the person it works for.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hotcell_core::call::{CallReport, Caller};
use hotcell_core::ids::{CallId, ToolName};
use hotcell_core::limits::CallLimits;
use hotcell_core::outcome::Fault;
use hotcell_core::policy::Permission;
use hotcell_core::text::{cap_chars, escape_keeping_lines};
use hotcell_core::tool::{CallContext, Definition, Hints, Tool, ToolKind};
use serde_json::{Value, json};
use thiserror::Error;

use crate::tool_set::Offer;

/// Longest question, in characters; a longer one is an invalid call.
pub const MAX_QUESTION_CHARS: usize = 4_000;

/// Longest answer, in characters; of a longer one the rest is left out, which the model is told.
pub const MAX_ANSWER_CHARS: usize = 64_000;

/// How long a person may take.
pub const TIME_TO_ANSWER: Duration = Duration::from_secs(60 * 60);

/// What a model wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Who is served.
    pub caller: Caller,
    /// The call that asks.
    pub call: CallId,
    /// The model's words: data, with everything that could steer a terminal escaped, line feeds and tabs
    /// kept.
    pub text: String,
}

/// Says why there is no answer; the model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no answer: {0}")]
pub struct NoAnswer(pub String);

type Asker = dyn Fn(Question) -> BoxFuture<'static, Result<String, NoAnswer>> + Send + Sync;

/// The tool `ask_user`. [`AskUser::offer`] makes it one that runs without an approval, since all it does
/// is to ask.
///
/// A question is dropped when the call is cancelled, after [`TIME_TO_ANSWER`], or when the run's time
/// is up, whichever is first.
pub struct AskUser {
    definition: Definition,
    asker: Arc<Asker>,
}

impl AskUser {
    /// A tool that asks with this function. Several questions of one run may be open at once where its
    /// calls run at the same time.
    ///
    /// # Panics
    /// Never: the name is a constant that satisfies the rules for names.
    pub fn new<F, Fut>(asker: F) -> Self
    where
        F: Fn(Question) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, NoAnswer>> + Send + 'static,
    {
        let question = json!({
            "type": "string",
            "description": "One question, with all that is needed to answer it.",
            "minLength": 1,
            "maxLength": MAX_QUESTION_CHARS,
        });
        let definition = Definition {
            name: ToolName::parse("ask_user").expect("a constant that satisfies the rules for names"),
            title: Some("Ask the user".into()),
            description: "Asks the user a question and waits for the answer. \
                Use it when you cannot go on without something only the user knows or decides."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {"question": question},
                "required": ["question"],
                "additionalProperties": false,
            }),
            output_schema: None,
            hints: Hints { read_only: Some(true), ..Hints::default() },
            timeout_ms: None,
            examples: Vec::new(),
        };
        Self { definition, asker: Arc::new(move |question| Box::pin(asker(question))) }
    }

    /// The tool as it is meant to be offered: allowed, with [`TIME_TO_ANSWER`] as its limit.
    #[must_use]
    pub fn offer(self) -> Offer {
        let limits = CallLimits { timeout: TIME_TO_ANSWER, ..CallLimits::default() };
        Offer::new(self, "").with_permission(Permission::Allow).with_limits(limits)
    }

    async fn ask(&self, ctx: &CallContext, arguments: &Value) -> CallReport {
        let text = arguments.get("question").and_then(Value::as_str).unwrap_or_default();
        let text = escape_keeping_lines(text);
        let question = Question { caller: ctx.caller.clone(), call: ctx.call.clone(), text };
        match (self.asker)(question).await {
            Ok(answer) => {
                let kept = cap_chars(&answer, MAX_ANSWER_CHARS);
                let cut = if kept.len() < answer.len() {
                    format!(
                        "The answer was longer than {MAX_ANSWER_CHARS} characters; this is its beginning."
                    )
                } else {
                    String::new()
                };
                CallReport { message: cut, ..CallReport::text(kept) }
            }
            Err(NoAnswer(reason)) => CallReport {
                message: "The user did not answer.".into(),
                ..CallReport::failure(Fault::Unavailable, reason)
            },
        }
    }
}

impl fmt::Debug for AskUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskUser").finish_non_exhaustive()
    }
}

impl Tool for AskUser {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Host
    }

    fn reaches_outside(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, ctx: &'a CallContext, arguments: &'a Value) -> BoxFuture<'a, CallReport> {
        Box::pin(self.ask(ctx, arguments))
    }
}

#[cfg(test)]
mod tests;

//! What one run is asked to do.

use std::fmt;
use std::sync::Arc;

use hotcell_core::approval::Approver;
use hotcell_core::budget::Budget;
use hotcell_core::call::Caller;
use hotcell_core::content::Block;
use hotcell_core::event::EventSink;
use hotcell_core::ids::RunId;
use hotcell_core::limits::Limits;
use hotcell_core::message::Transcript;
use hotcell_core::model::ToolChoice;
use hotcell_core::results::ResultStore;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::door::SessionGrants;

/// One request to a harness.
#[derive(Clone)]
pub struct RunRequest {
    /// The id of the run; whoever asks makes it, and makes it unique.
    pub run: RunId,
    /// Who is served; the run is filled in.
    pub caller: Caller,
    /// What is asked.
    pub prompt: Vec<Block>,
    /// The conversation so far; it is shared and never changed.
    pub history: Transcript,
    /// What caps the run.
    pub limits: Limits,
    /// JSON Schema the answer has to fit, when it is to be JSON.
    pub output_schema: Option<Value>,
    /// Whether the model may or must call tools; what it must is asked of the first turn only.
    pub tool_choice: ToolChoice,
    /// Fires when the caller gives up.
    pub cancel: CancellationToken,
    /// Fires when the run is to stand still: it stops before its next step, and can be resumed.
    pub pause: CancellationToken,
    /// Who is asked before a tool runs that needs an approval; without one such calls are denied.
    pub approver: Option<Arc<dyn Approver>>,
    /// Where events go.
    pub sink: Option<Arc<dyn EventSink>>,
    /// What the run may spend of a caller above it.
    pub budget: Option<Budget>,
    /// Where results go that are too large for the model; `None` is the memory of this process.
    pub results: Option<Arc<dyn ResultStore>>,
    /// What was approved for the whole conversation; a decision of this kind is added to it.
    pub session_grants: SessionGrants,
}

impl RunRequest {
    /// A request with default limits, and without history, approver, sink or parent budget.
    pub fn new(run: RunId, prompt: impl Into<String>) -> Self {
        Self {
            run,
            caller: Caller::local(),
            prompt: vec![Block::text(prompt)],
            history: Transcript::new(),
            limits: Limits::default(),
            output_schema: None,
            tool_choice: ToolChoice::Auto,
            cancel: CancellationToken::new(),
            pause: CancellationToken::new(),
            approver: None,
            sink: None,
            budget: None,
            results: None,
            session_grants: SessionGrants::new(),
        }
    }

    /// The same request that continues this conversation.
    #[must_use]
    pub fn history(mut self, history: &Transcript) -> Self {
        self.history = history.clone();
        self
    }

    /// The same request with these limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same request, whose answer has to fit this schema.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// The same request, whose model may or must call tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// The same request that stands still when the token fires.
    #[must_use]
    pub fn pause(mut self, pause: CancellationToken) -> Self {
        self.pause = pause;
        self
    }

    /// The same request that ends when the token fires.
    #[must_use]
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same request with this approver.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// The same request, which keeps large results there.
    #[must_use]
    pub fn results(mut self, results: Arc<dyn ResultStore>) -> Self {
        self.results = Some(results);
        self
    }

    /// The same request, which does not ask again about what was approved in this conversation.
    #[must_use]
    pub fn session_grants(mut self, grants: SessionGrants) -> Self {
        self.session_grants = grants;
        self
    }

    /// The same request with this sink.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.sink = Some(sink);
        self
    }
}

impl fmt::Debug for RunRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequest")
            .field("run", &self.run)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

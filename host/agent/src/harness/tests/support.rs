//! What the tests of whole runs share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _};
use hotcell_core::approval::{ApprovalRequest, Approver, ApproverError, Decision};
use hotcell_core::event::{EventKind, EventSink, RunEvent, SinkError};
use hotcell_core::ids::RunId;
use hotcell_core::model::{Model, ModelError, ModelEvent, ModelReply, ModelRequest};
use serde_json::{Value, json};

use crate::clock::TokioClock;
use crate::harness::{Harness, RunRequest, RunResult};
use crate::host_tool::HostTool;
use crate::scripted_model::ScriptedModel;
use crate::tool_set::{Offer, ToolSet};

pub(super) fn request(prompt: &str) -> RunRequest {
    RunRequest::new(RunId::parse("run").unwrap(), prompt)
}

pub(super) fn script(replies: impl IntoIterator<Item = ModelReply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies.into_iter().map(Ok)))
}

pub(super) fn harness(model: Arc<dyn Model>, offers: impl IntoIterator<Item = Offer>) -> Harness {
    Harness::new(model, Arc::new(ToolSet::new(offers).unwrap()), Arc::new(TokioClock))
}

/// How often something happened.
#[derive(Debug, Clone, Default)]
pub(super) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {}, "b": {}}})
}

/// `add(a, b)`, which runs without asking.
pub(super) fn add() -> Offer {
    let tool = HostTool::define("add", "Adds.").unwrap().pure().input_schema(schema()).handler(
        |arguments| async move {
            match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
                (Some(a), Some(b)) => Ok(json!({"sum": a + b})),
                _ => Err("both have to be integers"),
            }
        },
    );
    Offer::new(tool, "line")
}

/// `touch()`, which asks, and counts how often it ran.
pub(super) fn touch(ran: &Counter) -> Offer {
    let ran = ran.clone();
    let tool = HostTool::define("touch", "Touches.").unwrap().handler(move |_| {
        ran.add();
        async { "touched" }
    });
    Offer::new(tool, r#"tools.touch = { permission = "allow" }"#)
}

/// `nap(ms)`: waits, then counts.
pub(super) fn nap(effect: &Counter) -> Offer {
    let effect = effect.clone();
    let schema = json!({"type": "object", "properties": {"ms": {"type": "integer"}}});
    let tool =
        HostTool::define("nap", "Waits.").unwrap().pure().input_schema(schema).handler(move |arguments| {
            let effect = effect.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(3_000))).await;
                effect.add();
                "woke"
            }
        });
    Offer::new(tool, "line")
}

/// A model that answers after a time.
pub(super) struct Slow(pub(super) Duration, pub(super) ModelReply);

impl Model for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        stream::once(async {
            tokio::time::sleep(self.0).await;
            Ok(ModelEvent::Reply(self.1.clone()))
        })
        .boxed()
    }
}

/// An approver that decides after a time.
pub(super) struct Approves(pub(super) Duration, pub(super) Result<Decision, ApproverError>);

impl Approver for Approves {
    fn decide(&self, _request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>> {
        Box::pin(async {
            tokio::time::sleep(self.0).await;
            self.1.clone()
        })
    }
}

/// A sink that keeps events; it may be slow, and fail from some event on.
#[derive(Default)]
pub(super) struct Sink {
    pub(super) events: Mutex<Vec<RunEvent>>,
    pub(super) slow: Option<(usize, Duration)>,
    pub(super) fails_at: Option<usize>,
}

impl Sink {
    pub(super) fn names(&self) -> Vec<String> {
        self.events.lock().unwrap().iter().map(|event| name(&event.kind)).collect()
    }
}

impl EventSink for Sink {
    fn send(&self, event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>> {
        Box::pin(async move {
            let place = usize::try_from(event.meta.sequence).unwrap();
            if let Some((_, time)) = self.slow.filter(|(from, _)| place >= *from) {
                tokio::time::sleep(time).await;
            }
            if self.fails_at.is_some_and(|from| place >= from) {
                return Err(SinkError("disk full".into()));
            }
            self.events.lock().unwrap().push(event);
            Ok(())
        })
    }
}

/// An event as one short text.
pub(super) fn name(kind: &EventKind) -> String {
    match kind {
        EventKind::RunStarted => "run_started".into(),
        EventKind::ModelStarted => "model_started".into(),
        EventKind::ModelFinished { outcome, .. } => format!("model_finished {outcome}"),
        EventKind::ApprovalRequired { call, .. } => format!("approval_required {call}"),
        EventKind::ToolStarted { call, tool } => format!("tool_started {call} {tool}"),
        EventKind::ToolProgress { call, .. } => format!("tool_progress {call}"),
        EventKind::ToolFinished { call, tool, outcome, .. } => {
            format!("tool_finished {call} {tool} {outcome}")
        }
        EventKind::RunFinished { outcome } => format!("run_finished {outcome}"),
        EventKind::RunResumed => "run_resumed".into(),
        EventKind::RunSuspended { outcome } => format!("run_suspended {outcome}"),
        EventKind::Recovery { reason, count, next_budget } => {
            format!("recovery {reason:?} {count} {next_budget:?}")
        }
        EventKind::Repetition { period, laps } => format!("repetition {period} x {laps}"),
        _ => "unknown".into(),
    }
}

pub(super) fn names(result: &RunResult) -> Vec<String> {
    result.events.iter().map(|event| name(&event.kind)).collect()
}

/// The texts of the tool results in the transcript.
pub(super) fn results(result: &RunResult) -> Vec<String> {
    result
        .transcript
        .messages()
        .iter()
        .filter_map(|message| match message.as_ref() {
            hotcell_core::message::Message::Tool { content, .. } => Some(content[0].to_text()),
            _ => None,
        })
        .collect()
}

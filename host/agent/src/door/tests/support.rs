//! What the door tests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use hotcell_core::approval::{ApprovalRequest, Approver, ApproverError, Decision};
use hotcell_core::call::{CallReport, Caller};
use hotcell_core::ids::{CallId, ToolName};
use hotcell_core::limits::Limits;
use hotcell_core::outcome::Outcome;
use hotcell_core::tool::{CallContext, Definition, Hints, Tool, ToolKind};
use serde_json::{Value, json};

use crate::clock::TokioClock;
use crate::door::{Door, DoorRequest};
use crate::tool_set::{Offer, ToolSet};

pub(super) fn door(offers: impl IntoIterator<Item = Offer>) -> Door {
    door_with(Limits::default(), offers)
}

pub(super) fn door_with(limits: Limits, offers: impl IntoIterator<Item = Offer>) -> Door {
    Door::new(Arc::new(ToolSet::new(offers).unwrap()), Arc::new(limits), Arc::new(TokioClock))
}

pub(super) fn request(tool: &str, arguments: &str) -> DoorRequest {
    DoorRequest::new(Caller::local(), CallId::parse("c").unwrap(), tool, arguments)
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

/// Counts when it is dropped.
pub(super) struct OnDrop(pub(super) Counter);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add();
    }
}

type Work = dyn Fn(CallContext, Value) -> BoxFuture<'static, CallReport> + Send + Sync;

/// A tool of any kind that runs this.
pub(super) struct Probe {
    definition: Definition,
    kind: ToolKind,
    reaches_outside: bool,
    work: Box<Work>,
}

impl Probe {
    pub(super) fn new<F>(
        kind: ToolKind,
        reaches_outside: bool,
        work: impl Fn(CallContext, Value) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = CallReport> + Send + 'static,
    {
        let definition = Definition {
            name: ToolName::parse("probe").unwrap(),
            title: None,
            description: String::new(),
            input_schema: json!({"type": "object", "properties": {"n": {"type": "integer", "default": 3}}, "additionalProperties": false}),
            output_schema: None,
            hints: Hints::default(),
            timeout_ms: None,
            examples: Vec::new(),
        };
        let work = Box::new(move |context, arguments| -> BoxFuture<'static, CallReport> {
            Box::pin(work(context, arguments))
        });
        Self { definition, kind, reaches_outside, work }
    }

    pub(super) fn output_schema(mut self, schema: Value) -> Self {
        self.definition.output_schema = Some(schema);
        self
    }

    pub(super) fn hints(mut self, hints: Hints) -> Self {
        self.definition.hints = hints;
        self
    }

    pub(super) fn timeout_ms(mut self, timeout_ms: u32) -> Self {
        self.definition.timeout_ms = Some(timeout_ms);
        self
    }
}

impl Tool for Probe {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        self.kind
    }

    fn reaches_outside(&self) -> bool {
        self.reaches_outside
    }

    fn call<'a>(&'a self, ctx: &'a CallContext, arguments: &'a Value) -> BoxFuture<'a, CallReport> {
        (self.work)(ctx.clone(), arguments.clone())
    }
}

/// A tool that answers with its arguments and counts how often it ran.
pub(super) fn echo(counter: &Counter, reaches_outside: bool) -> Offer {
    let counter = counter.clone();
    let probe = Probe::new(ToolKind::Component, reaches_outside, move |_, arguments: Value| {
        counter.add();
        async move { CallReport::text(arguments.to_string()) }
    });
    Offer::new(probe, r#"tools.probe = { permission = "allow" }"#)
}

pub(super) fn report(outcome: Outcome) -> CallReport {
    CallReport::new(outcome, "")
}

/// An approver that always says the same and keeps what it was shown.
pub(super) struct Says(
    pub(super) Result<Decision, ApproverError>,
    pub(super) std::sync::Mutex<Vec<ApprovalRequest>>,
);

impl Says {
    pub(super) fn new(decision: Result<Decision, ApproverError>) -> Self {
        Self(decision, std::sync::Mutex::default())
    }
}

impl Approver for Says {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>> {
        self.1.lock().unwrap().push(request);
        Box::pin(async { self.0.clone() })
    }
}

/// An approver that never answers.
pub(super) struct Silent;

impl Approver for Silent {
    fn decide(&self, _request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>> {
        Box::pin(std::future::pending())
    }
}

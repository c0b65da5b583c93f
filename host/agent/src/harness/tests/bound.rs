//! A tool whose identity can be set, and an approver that counts.

use std::sync::Mutex;

use futures::future::BoxFuture;
use hotcell_core::approval::{ApprovalRequest, Approver, ApproverError, Decision};
use hotcell_core::call::CallReport;
use hotcell_core::ids::{Digest, ToolName};
use hotcell_core::tool::{CallContext, Definition, Hints, Tool, ToolKind};
use serde_json::{Value, json};

use super::support::Counter;
use crate::tool_set::Offer;

/// `write(to)`, which asks; everything an approval is bound to can be chosen.
#[derive(Clone)]
pub(super) struct Bound {
    definition: Definition,
    component: Digest,
    grants: Digest,
    ran: Counter,
}

impl Bound {
    pub(super) fn new(ran: &Counter) -> Self {
        let definition = Definition {
            name: ToolName::parse("write").unwrap(),
            title: None,
            description: "Writes.".into(),
            input_schema: json!({"type": "object", "properties": {"to": {"type": "string"}}}),
            output_schema: None,
            hints: Hints::default(),
            timeout_ms: None,
            examples: Vec::new(),
        };
        let (component, grants) = (Digest::of(b"component"), Digest::of(b"grants"));
        Self { definition, component, grants, ran: ran.clone() }
    }

    pub(super) fn described(mut self, description: &str) -> Self {
        self.definition.description = description.into();
        self
    }

    pub(super) fn component(mut self, bytes: &[u8]) -> Self {
        self.component = Digest::of(bytes);
        self
    }

    pub(super) fn granted(mut self, grants: &[u8]) -> Self {
        self.grants = Digest::of(grants);
        self
    }

    pub(super) fn offer(self) -> Offer {
        Offer::new(self, r#"tools.write = { permission = "allow" }"#)
    }
}

impl Tool for Bound {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Component
    }

    fn reaches_outside(&self) -> bool {
        true
    }

    fn component(&self) -> Option<Digest> {
        Some(self.component)
    }

    fn grants_digest(&self) -> Option<Digest> {
        Some(self.grants)
    }

    fn call<'a>(&'a self, _ctx: &'a CallContext, arguments: &'a Value) -> BoxFuture<'a, CallReport> {
        self.ran.add();
        Box::pin(std::future::ready(CallReport::text(arguments.to_string())))
    }
}

/// An approver that decides the same about every call, and keeps what it was asked.
pub(super) struct Decides(Decision, Mutex<Vec<ApprovalRequest>>);

impl Decides {
    pub(super) fn new(decision: Decision) -> Self {
        Self(decision, Mutex::default())
    }

    /// What it was asked last.
    pub(super) fn last(&self) -> Option<ApprovalRequest> {
        self.1.lock().unwrap().last().cloned()
    }

    /// How often it was asked.
    pub(super) fn asked(&self) -> usize {
        self.1.lock().unwrap().len()
    }
}

impl Approver for Decides {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>> {
        self.1.lock().unwrap().push(request);
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

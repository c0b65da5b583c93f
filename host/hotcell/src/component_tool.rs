//! One tool of a component, as the loop sees it.

use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;
use hotcell_core::call::{CallReport, CallRequest};
use hotcell_core::ids::Digest;
use hotcell_core::tool::{CallContext, Definition, Tool, ToolKind};
use hotcell_sandbox::Prepared;
use serde_json::Value;

use crate::guest_services::{CallServices, LogSink};

/// A tool of a component under its grants.
pub(crate) struct ComponentTool {
    /// The name inside of the component; models may know it by another.
    pub(crate) own_name: String,
    pub(crate) definition: Definition,
    pub(crate) prepared: Prepared,
    pub(crate) reaches_outside: bool,
    /// Of the grants it was prepared with.
    pub(crate) grants_digest: Digest,
    pub(crate) log: Arc<dyn LogSink>,
}

impl Tool for ComponentTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Component
    }

    fn reaches_outside(&self) -> bool {
        self.reaches_outside
    }

    fn component(&self) -> Option<Digest> {
        Some(self.prepared.digest())
    }

    fn grants_digest(&self) -> Option<Digest> {
        Some(self.grants_digest)
    }

    fn call<'a>(&'a self, ctx: &'a CallContext, arguments: &'a Value) -> BoxFuture<'a, CallReport> {
        Box::pin(self.run(ctx, arguments))
    }
}

impl ComponentTool {
    async fn run(&self, ctx: &CallContext, arguments: &Value) -> CallReport {
        let services = Arc::new(CallServices {
            call: ctx.call.clone(),
            tool: self.definition.name.clone(),
            progress: Arc::clone(&ctx.progress),
            log: Arc::clone(&self.log),
        });
        let request = self.request(ctx, arguments);
        self.prepared.call_until(request, services, ctx.cancel.cancelled()).await
    }

    fn request(&self, ctx: &CallContext, arguments: &Value) -> CallRequest {
        let mut limits = ctx.limits.clone();
        if let Some(left) = ctx.budget.fuel_left() {
            limits.fuel = limits.fuel.min(left);
        }
        CallRequest {
            caller: ctx.caller.clone(),
            call: ctx.call.clone(),
            idempotency_key: ctx.idempotency_key.clone(),
            component: self.prepared.digest(),
            tool: self.own_name.clone(),
            arguments: arguments.to_string(),
            remaining: ctx.budget.remaining(Instant::now()).unwrap_or(limits.timeout),
            limits,
        }
    }
}

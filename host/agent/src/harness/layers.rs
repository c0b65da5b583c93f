//! The middlewares of a harness, and the rules they keep.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use hotcell_core::call::CallReport;
use hotcell_core::message::{Message, ToolCall, Transcript};
use hotcell_core::middleware::{Middleware, MiddlewareError, Stage};
use hotcell_core::model::{ModelReply, ModelRequest};

use super::outbound::Outbound;
use crate::status::{ErrorKind, RunErrorInfo};
use crate::wording::quote;

/// Middlewares, the outermost first. Cloning them is cheap.
#[derive(Clone, Default)]
pub(super) struct Layers(Arc<[Arc<dyn Middleware>]>);

impl Layers {
    pub(super) fn new(middlewares: impl IntoIterator<Item = Arc<dyn Middleware>>) -> Self {
        Self(middlewares.into_iter().collect())
    }

    /// The same, with one more at the inside.
    pub(super) fn and(&self, middleware: Arc<dyn Middleware>) -> Self {
        Self::new(self.0.iter().cloned().chain([middleware]))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn change_replies(&self) -> bool {
        self.0.iter().any(|layer| layer.changes_replies())
    }

    /// The request as they leave it; a conversation they changed is mended like any other.
    pub(super) async fn before_model(
        &self,
        stage: &Stage,
        mut request: ModelRequest,
    ) -> Result<ModelRequest, RunErrorInfo> {
        for layer in self.0.iter() {
            let before = request.clone();
            caught(layer.as_ref(), async { layer.before_model(stage, &mut request).await }).await?;
            check_request(&before, &request).map_err(|broken| fault(layer.as_ref(), &broken))?;
            if !before.transcript.is_same(&request.transcript) {
                request.transcript = Outbound::default().of(&request.transcript);
            }
        }
        Ok(request)
    }

    /// The reply as they leave it.
    pub(super) async fn after_model(
        &self,
        stage: &Stage,
        mut reply: ModelReply,
    ) -> Result<ModelReply, RunErrorInfo> {
        for layer in self.0.iter().rev() {
            let before = reply.clone();
            caught(layer.as_ref(), async { layer.after_model(stage, &mut reply).await }).await?;
            check_reply(&before, &reply).map_err(|broken| fault(layer.as_ref(), &broken))?;
        }
        Ok(reply)
    }

    /// The call as they leave it.
    pub(super) async fn before_tool(
        &self,
        stage: &Stage,
        mut call: ToolCall,
    ) -> Result<ToolCall, RunErrorInfo> {
        for layer in self.0.iter() {
            let id = call.id.clone();
            caught(layer.as_ref(), async { layer.before_tool(stage, &mut call).await }).await?;
            if call.id != id {
                return Err(fault(layer.as_ref(), "it changed the id of a call"));
            }
        }
        Ok(call)
    }

    /// The report as they leave it.
    pub(super) async fn after_tool(
        &self,
        stage: &Stage,
        mut report: CallReport,
    ) -> Result<CallReport, RunErrorInfo> {
        for layer in self.0.iter().rev() {
            let (outcome, usage) = (report.outcome, report.usage.clone());
            caught(layer.as_ref(), async { layer.after_tool(stage, &mut report).await }).await?;
            if report.outcome != outcome || report.usage != usage {
                return Err(fault(layer.as_ref(), "it changed how a call ended or what it used"));
            }
        }
        Ok(report)
    }
}

/// Nothing of a middleware that panicked is used again: the run ends.
async fn caught(
    layer: &dyn Middleware,
    work: impl Future<Output = Result<(), MiddlewareError>>,
) -> Result<(), RunErrorInfo> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(MiddlewareError(message))) => Err(fault(layer, &message)),
        Err(_panic) => Err(fault(layer, "it panicked")),
    }
}

fn fault(layer: &dyn Middleware, message: &str) -> RunErrorInfo {
    let message = format!("middleware `{}`: {}", quote(layer.name()), quote(message));
    RunErrorInfo::new(ErrorKind::Middleware, message)
}

/// What a model is offered is the operator's word, and every call keeps its id.
fn check_request(before: &ModelRequest, after: &ModelRequest) -> Result<(), String> {
    if !Arc::ptr_eq(&before.tools, &after.tools) || before.tool_choice != after.tool_choice {
        return Err("it changed the tools of a request, or whether they may be called".to_owned());
    }
    if before.transcript.is_same(&after.transcript) {
        return Ok(());
    }
    let known = call_ids(&before.transcript);
    match call_ids(&after.transcript).difference(&known).next() {
        Some(id) => Err(format!("it put a call with the id `{id}` into a request")),
        None => Ok(()),
    }
}

fn call_ids(transcript: &Transcript) -> BTreeSet<String> {
    let ids = |message: &Message| match message {
        Message::Assistant { calls, .. } => calls.iter().map(|call| call.id.clone()).collect(),
        // Other messages have no calls.
        _ => Vec::new(),
    };
    transcript.messages().iter().flat_map(|message| ids(message)).collect()
}

fn check_reply(before: &ModelReply, after: &ModelReply) -> Result<(), String> {
    if before.stop != after.stop || before.usage != after.usage {
        return Err("it changed why a reply ended or what it used".to_owned());
    }
    let mut known = before.calls.iter();
    match after.calls.iter().find(|call| !known.any(|old| old.id == call.id)) {
        Some(call) => Err(format!("it put a call with the id `{}` into a reply, or moved it", call.id)),
        None => Ok(()),
    }
}

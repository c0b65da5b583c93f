//! Changing what goes to the model and the tools, and what comes back.

use futures::future::BoxFuture;
use thiserror::Error;

use crate::call::{CallReport, Caller};
use crate::ids::{CallId, RunId};
use crate::message::ToolCall;
use crate::model::{ModelReply, ModelRequest};

/// Whose request, reply or call a middleware has before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Who is served.
    pub caller: Caller,
    /// The run.
    pub run: RunId,
    /// The turn, from 0.
    pub turn: u32,
    /// The call; none before and after the model.
    pub call: Option<CallId>,
}

/// Says that a middleware failed; it ends the run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct MiddlewareError(pub String);

/// Code of the embedding program between the loop and what it calls.
///
/// There are four stages, and each does nothing unless it is written. Of several middlewares the first one
/// given is the outermost: it sees requests and calls first, and replies and reports last.
/// Every stage is dropped when the run's time is up or its caller gives up.
///
/// An error, a panic, and a change that is not allowed end the run with an error of the kind `middleware`;
/// its transcript is whole. What was stored before stays as it was.
pub trait Middleware: Send + Sync {
    /// What errors call it.
    fn name(&self) -> &str;

    /// Before the model is asked. It may change the conversation that is sent, the token limit and the
    /// temperature; the transcript of the run stays as it is.
    ///
    /// Not allowed: another set of tools or tool choice, and calls whose ids are not in the conversation.
    fn before_model<'a>(
        &'a self,
        stage: &'a Stage,
        request: &'a mut ModelRequest,
    ) -> BoxFuture<'a, Result<(), MiddlewareError>> {
        let _unchanged = (stage, request);
        done()
    }

    /// After the model replied, before the reply is stored. It may change text and arguments, and leave
    /// calls out.
    ///
    /// Not allowed: new calls, other ids, another order, another reason to stop, other token counts.
    fn after_model<'a>(
        &'a self,
        stage: &'a Stage,
        reply: &'a mut ModelReply,
    ) -> BoxFuture<'a, Result<(), MiddlewareError>> {
        let _unchanged = (stage, reply);
        done()
    }

    /// Whether [`Middleware::after_model`] changes replies. What a model says while it works is not shown
    /// then; the text is shown in one piece when it was changed.
    fn changes_replies(&self) -> bool {
        true
    }

    /// Before a call goes to the door, once for each call. It may change the tool's name and the arguments;
    /// they are checked, and an approver is shown them, like the model's own.
    ///
    /// Not allowed: another id.
    fn before_tool<'a>(
        &'a self,
        stage: &'a Stage,
        call: &'a mut ToolCall,
    ) -> BoxFuture<'a, Result<(), MiddlewareError>> {
        let _unchanged = (stage, call);
        done()
    }

    /// After a tool ran, before its result is shaped for the model. The report as it came is part of the
    /// run's state by then. It may change content and words.
    ///
    /// Not allowed: another outcome than the one the call ended with, and other usage.
    fn after_tool<'a>(
        &'a self,
        stage: &'a Stage,
        report: &'a mut CallReport,
    ) -> BoxFuture<'a, Result<(), MiddlewareError>> {
        let _unchanged = (stage, report);
        done()
    }
}

fn done<'a>() -> BoxFuture<'a, Result<(), MiddlewareError>> {
    Box::pin(std::future::ready(Ok(())))
}

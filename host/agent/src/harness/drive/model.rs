//! Asking the model, and passing on what it says while it works.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _};
use hotcell_core::event::{EventContent, EventKind};
use hotcell_core::message::Message;
use hotcell_core::middleware::Stage;
use hotcell_core::model::{ModelError, ModelEvent, ModelReply, ModelRequest, TokenUsage, ToolChoice};
use hotcell_core::outcome::EventOutcome;

use super::{Drive, Waited};
use crate::machine::{Command, CommandId, CommandOutcome, Entry, Interrupt, Step};
use crate::status::RunErrorInfo;

/// Most bytes of one reply: its text, its calls, and what it says while it works.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// A wait that came to no reply: the run ends, and this is what is told of the model.
struct NoReply {
    interrupt: Interrupt,
    outcome: EventOutcome,
    tokens: TokenUsage,
}

impl Drive<'_> {
    pub(super) async fn ask_model(&mut self) {
        let Some(Command::CallModel { id, tool_choice, max_output_tokens }) = self.machine.commands().next()
        else {
            return;
        };
        self.emit(EventKind::ModelStarted).await;
        self.check_time().await;
        if self.machine.is_ended() {
            // It was told that a model is asked, so it is told that the model was not.
            return self.emit(finished(EventOutcome::Skipped, TokenUsage::default())).await;
        }
        let request = self.model_request(tool_choice, max_output_tokens);
        match self.reply_to(request).await {
            Ok(reply) => self.take_reply(&id, reply).await,
            Err(NoReply { interrupt, outcome, tokens }) => {
                self.interrupt(interrupt).await;
                self.emit(finished(outcome, tokens)).await;
            }
        }
    }

    fn model_request(&mut self, tool_choice: ToolChoice, max_output_tokens: Option<u32>) -> ModelRequest {
        ModelRequest {
            transcript: self.outbound.of(self.machine.transcript()),
            tools: self.tools.definitions(),
            tool_choice,
            max_output_tokens,
            temperature: self.harness.config.temperature,
        }
    }

    /// The reply, through the middlewares on both ways.
    async fn reply_to(&mut self, request: ModelRequest) -> Result<Result<ModelReply, ModelError>, NoReply> {
        let layers = self.harness.layers.clone();
        let stage = self.stage(None);
        let nothing = TokenUsage::default();
        let request = if layers.is_empty() {
            request
        } else {
            self.passed(layers.before_model(&stage, request), EventOutcome::Skipped, nothing).await?
        };
        let reply = match self.ask(request).await {
            Waited::Done(reply) => reply,
            Waited::Cancelled => return Err(NoReply::cancelled(nothing)),
            Waited::Deadline => return Err(NoReply::too_late(nothing)),
        };
        let reply = match reply {
            Ok(reply) if !layers.is_empty() => {
                let tokens = reply.usage;
                self.passed(layers.after_model(&stage, reply), EventOutcome::Error, tokens).await?
            }
            other => return Ok(other),
        };
        if layers.change_replies()
            && let Some(text) = reply.text.clone()
        {
            self.tell_delta(EventKind::TextDelta { text }).await;
        }
        Ok(Ok(reply))
    }

    /// What middlewares came to, in time; one that fails ends the run.
    async fn passed<T>(
        &self,
        work: impl Future<Output = Result<T, RunErrorInfo>>,
        outcome: EventOutcome,
        tokens: TokenUsage,
    ) -> Result<T, NoReply> {
        match self.within_time(work).await {
            Waited::Done(Ok(passed)) => Ok(passed),
            Waited::Done(Err(error)) => Err(NoReply { interrupt: Interrupt::Failed(error), outcome, tokens }),
            Waited::Cancelled => Err(NoReply::cancelled(tokens)),
            Waited::Deadline => Err(NoReply::too_late(tokens)),
        }
    }

    /// One reply, at the end of the model's stream. What comes before it is told, unless middlewares may
    /// still change it.
    async fn ask(&mut self, request: ModelRequest) -> Waited<Result<ModelReply, ModelError>> {
        let model = Arc::clone(&self.harness.model);
        let passes_on = self.emitter.shows_content() && !self.harness.layers.change_replies();
        // Nothing of a model that panicked is used again: its stream is dropped.
        let Ok(mut events) = std::panic::catch_unwind(AssertUnwindSafe(|| model.stream(request))) else {
            return Waited::Done(Err(panicked()));
        };
        let mut bytes = 0_usize;
        loop {
            let event = match self.within_time(AssertUnwindSafe(events.next()).catch_unwind()).await {
                Waited::Done(Ok(event)) => event,
                Waited::Done(Err(_panic)) => return Waited::Done(Err(panicked())),
                Waited::Cancelled => return Waited::Cancelled,
                Waited::Deadline => return Waited::Deadline,
            };
            let delta = match event {
                Some(Ok(ModelEvent::Reply(reply))) => return Waited::Done(bounded(reply)),
                Some(Ok(ModelEvent::TextDelta(text))) => EventKind::TextDelta { text },
                Some(Ok(ModelEvent::ThinkingDelta(text))) => EventKind::ThinkingDelta { text },
                // What the core may add later is told by nobody yet.
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Waited::Done(Err(error)),
                None => return Waited::Done(Err(malformed("the stream ended without a reply"))),
            };
            bytes = bytes.saturating_add(delta_bytes(&delta));
            if bytes > MAX_REPLY_BYTES {
                return Waited::Done(Err(too_long(bytes)));
            }
            if passes_on {
                self.tell_delta(delta).await;
            }
            // A stream that always has something more must not outlast the run.
            self.check_time().await;
            if self.machine.is_ended() {
                return Waited::Deadline;
            }
            tokio::task::consume_budget().await;
        }
    }

    async fn tell_delta(&mut self, delta: EventKind) {
        let turn = self.machine.head().turn;
        let told = self.emitter.emit_delta(turn, delta).await;
        if let Some(step) = self.sink_failed(told) {
            self.commit([step]).await;
        }
    }

    /// Applied before it is told: the order of events is the order of commits.
    async fn take_reply(&mut self, id: &CommandId, reply: Result<ModelReply, ModelError>) {
        let event = match &reply {
            Ok(reply) => finished(EventOutcome::Success, reply.usage),
            Err(_) => finished(EventOutcome::Error, TokenUsage::default()),
        };
        let elapsed = self.emitter.elapsed();
        let turn = self.machine.head().turn;
        let step = self.machine.apply(id, CommandOutcome::Model(reply), elapsed);
        let stored = step.as_ref().ok().and_then(stored_reply);
        let told = self.emitter.emit(turn, event, || stored.map(EventContent::Reply)).await;
        let failed = self.sink_failed(told);
        self.commit_or_fail(step).await;
        self.commit(failed).await;
    }

    pub(super) fn stage(&self, call: Option<&CommandId>) -> Stage {
        Stage {
            caller: self.caller.clone(),
            run: self.machine.setup().run.clone(),
            turn: self.machine.head().turn,
            call: call.and_then(|id| id.to_call_id().ok()),
        }
    }
}

impl NoReply {
    const fn cancelled(tokens: TokenUsage) -> Self {
        Self { interrupt: Interrupt::Cancelled, outcome: EventOutcome::Interrupted, tokens }
    }

    const fn too_late(tokens: TokenUsage) -> Self {
        Self { interrupt: Interrupt::Deadline, outcome: EventOutcome::TimedOut, tokens }
    }
}

fn finished(outcome: EventOutcome, tokens: TokenUsage) -> EventKind {
    EventKind::ModelFinished { outcome, tokens }
}

fn stored_reply(step: &Step) -> Option<Arc<Message>> {
    step.entries.iter().find_map(|entry| match entry {
        Entry::Message { message, .. } if matches!(message.as_ref(), Message::Assistant { .. }) => {
            Some(Arc::clone(message))
        }
        Entry::Message { .. } | Entry::Tool { .. } | Entry::Answer { .. } => None,
    })
}

fn delta_bytes(delta: &EventKind) -> usize {
    match delta {
        EventKind::TextDelta { text } | EventKind::ThinkingDelta { text } => text.len(),
        // Other events are no part of a reply.
        _ => 0,
    }
}

/// The reply, unless it is longer than any may be.
fn bounded(reply: ModelReply) -> Result<ModelReply, ModelError> {
    let calls: usize =
        reply.calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments.len()).sum();
    let bytes = calls.saturating_add(reply.text.as_ref().map_or(0, String::len));
    if bytes > MAX_REPLY_BYTES { Err(too_long(bytes)) } else { Ok(reply) }
}

fn too_long(bytes: usize) -> ModelError {
    malformed(&format!("the reply has {bytes} bytes or more, at most {MAX_REPLY_BYTES} are allowed"))
}

fn malformed(message: &str) -> ModelError {
    ModelError::Malformed { message: message.to_owned() }
}

fn panicked() -> ModelError {
    ModelError::Provider { message: "the model panicked".to_owned(), status: None }
}

//! What a reply of the model does to a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use hotcell_core::message::{Message, ToolCall};
use hotcell_core::model::{ModelReply, ReplyStop};

use super::entry::{SkipReason, ToolEntry};
use super::head::{Entry, Interrupt, RunPhase};
use super::{RunMachine, count};
use crate::schema::Schema;
use crate::status::{ErrorKind, RunErrorInfo, RunStatus, StopReason};

impl RunMachine {
    pub(super) fn take_reply(&mut self, reply: ModelReply, entries: &mut Vec<Entry>) {
        self.head.turns = self.head.turns.saturating_add(1);
        self.head.tokens = self.head.tokens.plus(reply.usage);
        if let Err(message) = check_ids(&reply.calls) {
            // The reply stays out of the transcript: its calls could not be answered one by one.
            self.fail(RunErrorInfo::new(ErrorKind::MalformedReply, message));
            return;
        }
        let ModelReply { text, calls, stop, usage: _ } = reply;
        self.head.last_reply = Some(self.transcript.len());
        self.head.output_fits = false;
        let message = Message::Assistant { text, calls: calls.clone() };
        entries.push(self.append(message));
        if calls.is_empty() {
            self.take_answer(&stop);
        } else {
            self.take_batch(calls, &stop, entries);
        }
    }

    /// A reply without calls is the last one.
    fn take_answer(&mut self, stop: &ReplyStop) {
        let stop = StopReason::of_reply(stop);
        let whole = matches!(stop, StopReason::EndTurn | StopReason::StopSequence);
        if self.head.interrupt.is_some() {
            // It came too late to count and was paid for: it is kept, and checked.
            self.head.output_fits = whole && self.output_fits() == Some(true);
            self.end_if_interrupted();
        } else if !whole {
            self.end(RunStatus::Completed, stop);
        } else if self.head.phase == RunPhase::FinalAnswer {
            self.end(RunStatus::Completed, StopReason::MaxTurns);
        } else {
            match self.output_fits() {
                None => self.end(RunStatus::Completed, stop),
                Some(false) => self.end(RunStatus::Completed, StopReason::InvalidOutput),
                Some(true) => {
                    self.head.output_fits = true;
                    self.end(RunStatus::Completed, stop);
                }
            }
        }
    }

    /// Whether the answer is what the output schema asks for; `None` when there is no schema.
    fn output_fits(&self) -> Option<bool> {
        // It was compiled once when the run started, so this compilation cannot fail.
        let schema = Schema::compile(self.setup.output_schema.as_ref()?).ok()?;
        let text = self.output().unwrap_or_default();
        let fits = serde_json::from_str(&text).is_ok_and(|value| schema.check(&value, text.len(), 1).is_ok());
        Some(fits)
    }

    fn take_batch(&mut self, calls: Vec<ToolCall>, stop: &ReplyStop, entries: &mut Vec<Entry>) {
        let refusal = self.refusal(calls.len(), stop);
        self.batch = calls
            .into_iter()
            .zip(1_u32..)
            .map(|(call, n)| Arc::new(ToolEntry::new(self.id(n), call)))
            .collect();
        self.head.answered = 0;
        self.head.phase = RunPhase::Tools;
        let Some(reason) = refusal else {
            entries.extend(self.batch.iter().map(|tool| Entry::Tool { tool: Arc::clone(tool) }));
            return;
        };
        self.skip_open(entries, reason);
        self.answer_in_order(entries);
        match reason {
            SkipReason::Cancelled | SkipReason::Deadline | SkipReason::RunFailed => self.end_if_interrupted(),
            SkipReason::MaxToolCalls => self.end(RunStatus::Stopped, StopReason::MaxToolCalls),
            SkipReason::FinalAnswer => self.end(RunStatus::Completed, StopReason::MaxTurns),
            SkipReason::CutReply | SkipReason::RefusedReply => {
                self.end(RunStatus::Completed, StopReason::of_reply(stop));
            }
            // The model may ask for less in the next turn.
            SkipReason::MaxToolCallsPerTurn => self.next_turn(entries),
        }
    }

    /// Why a batch is refused as a whole, the strongest reason first.
    fn refusal(&self, calls: usize, stop: &ReplyStop) -> Option<SkipReason> {
        let limits = &self.setup.limits;
        let after = self.head.tool_calls.saturating_add(count(calls));
        match &self.head.interrupt {
            Some(Interrupt::Failed(_)) => Some(SkipReason::RunFailed),
            Some(Interrupt::Cancelled) => Some(SkipReason::Cancelled),
            Some(Interrupt::Deadline) => Some(SkipReason::Deadline),
            None if *stop == ReplyStop::MaxTokens => Some(SkipReason::CutReply),
            None if !stop.allows_calls() => Some(SkipReason::RefusedReply),
            None if self.head.phase == RunPhase::FinalAnswer => Some(SkipReason::FinalAnswer),
            None if count(calls) > limits.max_tool_calls_per_turn.get() => {
                Some(SkipReason::MaxToolCallsPerTurn)
            }
            None if limits.max_tool_calls.is_some_and(|max| after > max.get()) => {
                Some(SkipReason::MaxToolCalls)
            }
            None => None,
        }
    }
}

/// Ids are not empty and unique within a reply, else an answer could not name its call.
fn check_ids(calls: &[ToolCall]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (place, call) in calls.iter().enumerate() {
        if call.id.is_empty() {
            return Err(format!("call {} of the reply has an empty id; nothing was run", place + 1));
        }
        if !seen.insert(call.id.as_str()) {
            let id = hotcell_core::text::escape_control(&hotcell_core::text::cap_chars(&call.id, 100));
            return Err(format!("two calls of the reply have the id `{id}`; nothing was run"));
        }
    }
    Ok(())
}

//! What a reply of the model does to a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use hotcell_core::message::{Message, ToolCall};
use hotcell_core::model::{ModelReply, ReplyStop};

use super::entry::{SkipReason, ToolEntry};
use super::head::{Added, Entry, Interrupt, RunPhase};
use super::{RunMachine, count};
use crate::schema::Schema;
use crate::status::{ErrorKind, RunErrorInfo, RunStatus, StopReason};
use crate::wording::quote;

/// Most errors a model is told of its answer.
const MAX_ERRORS: usize = 5;

impl RunMachine {
    pub(super) fn take_reply(&mut self, reply: ModelReply, added: &mut Added) {
        self.head.turns = self.head.turns.saturating_add(1);
        self.count_usage(reply.usage);
        if let Err(message) = check_ids(&reply.calls) {
            // The reply stays out of the transcript: its calls could not be answered one by one.
            self.fail(RunErrorInfo::new(ErrorKind::MalformedReply, message));
            return;
        }
        self.head.recoveries.unreadable = 0;
        let ModelReply { text, calls, stop, usage: _ } = reply;
        if says_nothing(text.as_deref()) && calls.is_empty() && self.head.pieces.is_empty() {
            if self.take_nothing(&stop, added) {
                return;
            }
        } else {
            self.said_something(&stop);
        }
        self.head.last_reply = Some(self.transcript.len());
        self.head.output_fits = false;
        let message = Message::Assistant { text, calls: calls.clone() };
        added.entries.push(self.append(message));
        if calls.is_empty() {
            self.take_answer(&stop, added);
        } else {
            self.head.pieces.clear();
            self.take_batch(calls, &stop, added);
        }
    }

    /// A reply that says nothing may be asked for again, and is not stored then; says whether it is.
    fn take_nothing(&mut self, stop: &ReplyStop, added: &mut Added) -> bool {
        match stop {
            ReplyStop::MaxTokens => self.go_on_after_cut_nothing(added),
            ReplyStop::PauseTurn => self.go_on_after_pause(None, added),
            ReplyStop::Refusal | ReplyStop::Safety => false,
            ReplyStop::EndTurn | ReplyStop::ToolUse | ReplyStop::StopSequence | ReplyStop::Other(_) => {
                self.go_on_after_nothing(added)
            }
            // A reason the core may add later is none of those where asking again is known to help.
            _ => false,
        }
    }

    /// A reply without calls is the last one, unless it was cut or paused or does not fit its schema.
    fn take_answer(&mut self, stop: &ReplyStop, added: &mut Added) {
        let went_on = match stop {
            ReplyStop::MaxTokens => self.go_on_after_cut_text(added),
            ReplyStop::PauseTurn => self.go_on_after_pause(self.head.last_reply, added),
            _ => false,
        };
        if went_on {
            return;
        }
        let stop = StopReason::of_reply(stop);
        let whole = matches!(stop, StopReason::EndTurn | StopReason::StopSequence);
        if self.head.interrupt.is_some() {
            // It came too late to count and was paid for: it is kept, and checked.
            self.head.output_fits = whole && matches!(self.check_output(), Some(Ok(())));
            self.end_if_interrupted();
        } else if !whole {
            self.end(RunStatus::Completed, stop);
        } else if self.head.phase == RunPhase::FinalAnswer {
            self.end(RunStatus::Completed, StopReason::MaxTurns);
        } else {
            match self.check_output() {
                None => self.end(RunStatus::Completed, stop),
                Some(Ok(())) => {
                    self.head.output_fits = true;
                    self.end(RunStatus::Completed, stop);
                }
                Some(Err(errors)) if self.go_on_after_misfit(&errors, added) => {}
                Some(Err(_)) => self.end(RunStatus::Completed, StopReason::InvalidOutput),
            }
        }
    }

    /// Whether the answer is what the output schema asks for; `None` when there is no schema.
    fn check_output(&self) -> Option<Result<(), Vec<String>>> {
        // It was compiled once when the run started, so this compilation cannot fail.
        let schema = Schema::compile(self.setup.output_schema.as_ref()?).ok()?;
        let text = self.output().unwrap_or_default();
        Some(match serde_json::from_str(&text) {
            Ok(value) => schema.check(&value, text.len(), MAX_ERRORS),
            Err(error) => Err(vec![format!("it is not JSON ({})", quote(&error.to_string()))]),
        })
    }

    fn take_batch(&mut self, calls: Vec<ToolCall>, stop: &ReplyStop, added: &mut Added) {
        let refusal = self.refusal(calls.len(), stop);
        let last = self.head.phase == RunPhase::FinalAnswer;
        self.batch = calls
            .into_iter()
            .zip(1_u32..)
            .map(|(call, n)| Arc::new(ToolEntry::new(self.id(n), call)))
            .collect();
        self.head.answered = 0;
        self.head.phase = RunPhase::Tools;
        let Some(reason) = refusal else {
            added.entries.extend(self.batch.iter().map(|tool| Entry::Tool { tool: Arc::clone(tool) }));
            return;
        };
        self.skip_open(added, reason);
        self.answer_in_order(added);
        match reason {
            SkipReason::Cancelled | SkipReason::Deadline | SkipReason::RunFailed => self.end_if_interrupted(),
            SkipReason::MaxToolCalls => self.end(RunStatus::Stopped, StopReason::MaxToolCalls),
            SkipReason::FinalAnswer => self.end(RunStatus::Completed, StopReason::MaxTurns),
            SkipReason::CutReply if !last && self.go_on_after_cut_calls(added) => {}
            SkipReason::CutReply | SkipReason::RefusedReply => {
                self.end(RunStatus::Completed, StopReason::of_reply(stop));
            }
            // The model may ask for less in the next turn.
            SkipReason::MaxToolCallsPerTurn => self.next_turn(added),
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

/// Whether a reply has no text but white space.
fn says_nothing(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
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

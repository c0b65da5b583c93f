//! Going on where a run could end.

use hotcell_core::event::Recovery;
use hotcell_core::message::Message;
use hotcell_core::model::ReplyStop;

use super::RunMachine;
use super::head::{Added, Notice, RunPhase};
use crate::status::{ErrorKind, RunErrorInfo};
use crate::wording;

/// How often in a row a turn that the provider paused is sent back.
pub const MAX_PAUSES: u32 = 5;

/// How often in a row a reply is asked for again whose calls could not be read.
const MAX_UNREADABLE: u32 = 1;

impl RunMachine {
    /// Whether a reply may be followed by another one: nothing is ending the run, and a turn is left.
    fn may_go_on(&self) -> bool {
        let turn_left = self.setup.limits.max_turns.is_none_or(|max| self.head.turns < max.get());
        let asked = match self.head.phase {
            RunPhase::Model | RunPhase::Tools => true,
            RunPhase::FinalAnswer | RunPhase::Ended => false,
        };
        asked && self.head.interrupt.is_none() && turn_left
    }

    /// Asks for the rest of an answer that was cut, with twice the budget; says whether it did.
    pub(super) fn go_on_after_cut_text(&mut self, added: &mut Added) -> bool {
        let stored = self.head.last_reply;
        self.recover_cut(Recovery::TruncatedText, added, |machine, added| {
            machine.head.pieces.extend(stored);
            machine.tell(wording::GO_ON, added);
        })
    }

    /// Asks again for a reply that was cut before it said anything, which is not stored.
    pub(super) fn go_on_after_cut_nothing(&mut self, added: &mut Added) -> bool {
        self.recover_cut(Recovery::TruncatedText, added, |machine, added| {
            machine.tell(wording::CUT_BEFORE_IT_BEGAN, added);
        })
    }

    /// Asks again for calls that were cut; their answers say that they did not run.
    pub(super) fn go_on_after_cut_calls(&mut self, added: &mut Added) -> bool {
        self.recover_cut(Recovery::TruncatedToolCall, added, |_machine, _added| {})
    }

    fn recover_cut(
        &mut self,
        reason: Recovery,
        added: &mut Added,
        ask: impl FnOnce(&mut Self, &mut Added),
    ) -> bool {
        if !self.may_go_on()
            || self.head.recoveries.truncations >= self.setup.limits.max_truncation_recoveries
        {
            return false;
        }
        self.head.recoveries.truncations += 1;
        let budget = self.head.reply_budget.or(self.setup.max_output_tokens);
        let doubled = budget.map(|budget| {
            let most = self.setup.model_output_tokens.unwrap_or(u32::MAX).max(budget);
            budget.saturating_mul(2).min(most)
        });
        let changed = doubled.filter(|doubled| budget != Some(*doubled));
        self.head.reply_budget = doubled.or(self.head.reply_budget);
        let count = self.head.recoveries.truncations;
        added.notices.push(Notice::Recovery { reason, count, next_budget: changed });
        ask(self, added);
        self.next_turn(added);
        true
    }

    /// Sends back a turn that the provider paused; says whether it did or the run failed.
    pub(super) fn go_on_after_pause(&mut self, stored: Option<usize>, added: &mut Added) -> bool {
        if !self.may_go_on() {
            return false;
        }
        if self.head.recoveries.pauses >= MAX_PAUSES {
            let message = format!("the provider paused its turn {} times in a row", MAX_PAUSES + 1);
            self.fail(RunErrorInfo::new(ErrorKind::RecoveryExhausted, message));
            return true;
        }
        self.head.recoveries.pauses += 1;
        self.head.pieces.extend(stored);
        added.recovered(Recovery::PausedTurn, self.head.recoveries.pauses);
        self.next_turn(added);
        true
    }

    /// Asks a model again that said nothing; says whether it did or the run failed.
    pub(super) fn go_on_after_nothing(&mut self, added: &mut Added) -> bool {
        let most = self.setup.limits.empty_reply_nudges;
        if most == 0 || !self.may_go_on() {
            return false;
        }
        if self.head.recoveries.empty >= most {
            let message = format!("the model said nothing {} times in a row", most.saturating_add(1));
            self.fail(RunErrorInfo::new(ErrorKind::RecoveryExhausted, message));
            return true;
        }
        self.head.recoveries.empty += 1;
        added.recovered(Recovery::EmptyReply, self.head.recoveries.empty);
        self.tell(wording::SAY_SOMETHING, added);
        self.next_turn(added);
        true
    }

    /// Asks again for an answer that does not fit its schema; says whether it did.
    pub(super) fn go_on_after_misfit(&mut self, errors: &[String], added: &mut Added) -> bool {
        if !self.may_go_on() || self.head.recoveries.repairs >= self.setup.limits.output_repairs {
            return false;
        }
        self.head.recoveries.repairs += 1;
        self.head.pieces.clear();
        added.recovered(Recovery::InvalidOutput, self.head.recoveries.repairs);
        self.tell(&wording::repair(errors), added);
        self.next_turn(added);
        true
    }

    /// Asks again for a reply whose calls could not be read; says whether it did.
    pub(super) fn go_on_after_unreadable(&mut self, added: &mut Added) -> bool {
        if self.head.interrupt.is_some()
            || self.head.phase != RunPhase::Model
            || self.head.recoveries.unreadable >= MAX_UNREADABLE
        {
            return false;
        }
        self.head.recoveries.unreadable += 1;
        added.recovered(Recovery::UnreadableCall, self.head.recoveries.unreadable);
        self.await_reply(RunPhase::Model);
        true
    }

    /// A reply that says something starts the counts of those that did not again.
    pub(super) fn said_something(&mut self, stop: &ReplyStop) {
        self.head.recoveries.empty = 0;
        if *stop != ReplyStop::PauseTurn {
            self.head.recoveries.pauses = 0;
        }
    }

    pub(super) fn tell(&mut self, text: &str, added: &mut Added) {
        let entry = self.append(Message::user(text));
        added.entries.push(entry);
    }
}

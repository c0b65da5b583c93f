//! Moving a batch on: answers in call order, skips, and what comes after the last call.

use std::sync::Arc;

use hotcell_core::event::Recovery;
use hotcell_core::limits::OnTurnLimit;

use super::RunMachine;
use super::entry::{EntryStatus, SkipReason, ToolEntry};
use super::head::{Added, Entry, Interrupt, RunPhase};
use crate::answer::Answer;
use crate::status::{ErrorKind, RunErrorInfo, RunStatus, StopReason};
use crate::wording;

impl RunMachine {
    pub(super) fn status_at(&self, place: usize) -> Option<EntryStatus> {
        self.batch.get(place).map(|tool| tool.status)
    }

    /// Changes one entry and notes the change.
    pub(super) fn update(&mut self, place: usize, added: &mut Added, change: impl FnOnce(&mut ToolEntry)) {
        if let Some(tool) = self.batch.get_mut(place) {
            change(Arc::make_mut(tool));
            added.entries.push(Entry::Tool { tool: Arc::clone(tool) });
        }
    }

    /// Counts a call against the budget, once, whatever becomes of it.
    pub(super) fn count_call(&mut self, place: usize) {
        if let Some(tool) = self.batch.get_mut(place)
            && !tool.counted
        {
            Arc::make_mut(tool).counted = true;
            self.head.tool_calls = self.head.tool_calls.saturating_add(1);
        }
    }

    /// Gives an open entry its end.
    pub(super) fn close(
        &mut self,
        place: usize,
        added: &mut Added,
        answer: Option<Answer>,
        status: EntryStatus,
    ) {
        self.count_call(place);
        if self.status_at(place) == Some(EntryStatus::Started) {
            self.head.running = self.head.running.saturating_sub(1);
        }
        self.update(place, added, |tool| {
            tool.status = status;
            tool.pending = None;
            tool.suspended = false;
            tool.raw = None;
            tool.answer = answer;
        });
    }

    /// Does everything that waits for nothing.
    pub(super) fn advance(&mut self, added: &mut Added) {
        match self.head.phase {
            RunPhase::Ended => {}
            RunPhase::Model | RunPhase::FinalAnswer => self.end_if_interrupted(),
            RunPhase::Tools => {
                if let Some(reason) = self.skip_reason() {
                    self.skip_open(added, reason);
                }
                self.answer_in_order(added);
                if self.head.answered == self.batch.len() {
                    self.end_if_interrupted();
                    if self.head.phase == RunPhase::Tools {
                        self.after_batch(added);
                    }
                }
            }
        }
    }

    /// Skips every call that was not handed to a tool, and closes those whose results nobody will finish.
    pub(super) fn skip_open(&mut self, added: &mut Added, reason: SkipReason) {
        for place in self.head.answered..self.batch.len() {
            match self.status_at(place) {
                Some(EntryStatus::Prepared | EntryStatus::Approval) => {
                    self.update(place, added, |tool| {
                        tool.status = EntryStatus::Skipped;
                        tool.pending = None;
                        tool.suspended = false;
                        tool.skipped = Some(reason);
                    });
                }
                Some(EntryStatus::RawCompleted) => self.withhold(place, added),
                Some(
                    EntryStatus::Started
                    | EntryStatus::Completed
                    | EntryStatus::Uncertain
                    | EntryStatus::Skipped,
                )
                | None => {}
            }
        }
    }

    /// Closes a call whose result middlewares had not finished with: what they might have taken out is not
    /// shown.
    fn withhold(&mut self, place: usize, added: &mut Added) {
        let Some(raw) = self.batch.get(place).and_then(|tool| tool.raw.clone()) else { return };
        let report = wording::withheld(&raw);
        let answer = Answer::new(report, self.setup.limits.max_result_chars.get());
        self.close(place, added, Some(answer), EntryStatus::RawCompleted);
    }

    /// Appends the answers of closed calls to the transcript, up to the first that is open.
    pub(super) fn answer_in_order(&mut self, added: &mut Added) {
        while let Some(tool) = self.batch.get_mut(self.head.answered)
            && tool.is_closed()
        {
            if tool.status == EntryStatus::RawCompleted {
                Arc::make_mut(tool).status = EntryStatus::Completed;
            }
            let tool = Arc::clone(tool);
            let last = self.head.answered + 1 == self.batch.len();
            let note = self.guard(&tool, last, added);
            let index = self.transcript.len();
            let message = self.push(tool.to_message(note));
            added.entries.push(Entry::Answer { index, message, tool });
            self.head.answered += 1;
        }
    }

    fn skip_reason(&self) -> Option<SkipReason> {
        self.head.interrupt.as_ref().map(|interrupt| match interrupt {
            Interrupt::Deadline => SkipReason::Deadline,
            Interrupt::Cancelled => SkipReason::Cancelled,
            Interrupt::Failed(_) => SkipReason::RunFailed,
        })
    }

    pub(super) fn end_if_interrupted(&mut self) {
        match self.head.interrupt.take() {
            None => {}
            Some(Interrupt::Deadline) => self.end(RunStatus::Stopped, StopReason::Deadline),
            Some(Interrupt::Cancelled) => self.end(RunStatus::Cancelled, StopReason::Cancelled),
            Some(Interrupt::Failed(error)) => self.fail(error),
        }
    }

    /// What comes after a batch whose calls were run: the next turn, or the end of a model that repeats
    /// itself.
    fn after_batch(&mut self, added: &mut Added) {
        if self.head.laps.stop {
            self.end(RunStatus::Stopped, StopReason::LoopGuard);
        } else {
            self.next_turn(added);
        }
    }

    /// Begins the next turn, or does what the limits say when there is none left.
    pub(super) fn next_turn(&mut self, added: &mut Added) {
        let limits = &self.setup.limits;
        let spent = limits.max_turns.filter(|max| self.head.turns >= max.get());
        match (spent, limits.on_turn_limit) {
            (None, _) => self.await_reply(RunPhase::Model),
            (Some(max), OnTurnLimit::FinalAnswer) => {
                let text = format!(
                    "The limit of {max} turns is reached and no more tools will be run. \
                     Give your final answer now, from what you have, and say what is left undone."
                );
                self.tell(&text, added);
                added.recovered(Recovery::TurnLimit, 1);
                self.await_reply(RunPhase::FinalAnswer);
            }
            (Some(_), OnTurnLimit::Stop) => self.end(RunStatus::Stopped, StopReason::MaxTurns),
            (Some(max), OnTurnLimit::Fail) => {
                let message = format!("the limit of {max} turns was reached without an answer");
                self.fail(RunErrorInfo::new(ErrorKind::MaxTurns, message));
            }
        }
    }

    pub(super) fn await_reply(&mut self, phase: RunPhase) {
        self.head.phase = phase;
        self.head.turn = self.head.turn.saturating_add(1);
        self.head.answered = 0;
        self.batch.clear();
        self.fit_cost();
    }
}

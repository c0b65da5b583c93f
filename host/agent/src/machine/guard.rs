//! Noticing a model that repeats itself.

use std::collections::VecDeque;

use hotcell_core::canonical;
use hotcell_core::ids::Digest;
use hotcell_core::loop_guard::{LoopGuard, OnTrip};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunMachine;
use super::entry::ToolEntry;
use super::head::{Added, Notice};
use crate::answer::Answer;
use crate::{shape, wording};

/// What the loop guard remembers: a sign for each of the last calls, the newest at the end.
///
/// Its size is bounded by the guard's history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Laps {
    signs: VecDeque<u64>,
    /// How often the model was told.
    pub trips: u32,
    /// Whether the run ends with this batch.
    pub stop: bool,
}

impl Laps {
    fn push(&mut self, sign: u64, guard: &LoopGuard) {
        self.signs.push_back(sign);
        while self.signs.len() > usize::try_from(guard.history()).unwrap_or(usize::MAX) {
            self.signs.pop_front();
        }
    }

    /// The shortest period of which the newest calls are equal laps.
    fn period(&self, guard: &LoopGuard) -> Option<u32> {
        (1..=guard.max_period()).find(|period| {
            let lap = usize::try_from(*period).unwrap_or(usize::MAX);
            let calls = lap.saturating_mul(usize::try_from(guard.threshold()).unwrap_or(usize::MAX));
            let Some(first) = self.signs.len().checked_sub(calls) else { return false };
            let newest = || self.signs.iter().skip(first);
            newest().zip(newest().skip(lap)).all(|(one, next)| one == next)
        })
    }
}

impl RunMachine {
    /// Remembers a call that is about to be answered. With the last call of a batch it looks for laps;
    /// the note is what the model is to be told with that call's result.
    ///
    /// Results are committed one by one and never change, so the note goes with the last result of the
    /// batch: at the first nobody can know yet.
    pub(super) fn guard(&mut self, tool: &ToolEntry, last: bool, added: &mut Added) -> Option<String> {
        let guard = self.setup.limits.loop_guard?;
        if let Some(answer) = &tool.answer {
            self.head.laps.push(sign(tool, answer), &guard);
        }
        let period = if last { self.head.laps.period(&guard)? } else { return None };
        let laps = &mut self.head.laps;
        laps.signs.clear();
        laps.trips = laps.trips.saturating_add(1);
        laps.stop = match guard.when_tripped() {
            OnTrip::Warn => false,
            OnTrip::Stop { after } => laps.trips > after,
        };
        added.notices.push(Notice::Repetition { period, laps: guard.threshold() });
        Some(wording::repeats(period, guard.threshold()))
    }
}

/// The same for calls of one tool with the same arguments and the same result, whatever the order of
/// keys; the whole result counts, also where the model reads a part.
fn sign(tool: &ToolEntry, answer: &Answer) -> u64 {
    let arguments = serde_json::from_str::<Value>(&tool.call.arguments)
        .ok()
        .and_then(|value| canonical::to_canonical(&value).ok())
        .unwrap_or_else(|| tool.call.arguments.clone());
    let result = shape::whole(&answer.report);
    let mut text = String::with_capacity(tool.call.name.len() + arguments.len() + result.len() + 2);
    for part in [tool.call.name.as_str(), "\0", &arguments, "\0", &result] {
        text.push_str(part);
    }
    let digest = Digest::of(text.as_bytes());
    digest.as_bytes().iter().take(8).fold(0, |sign, byte| sign << 8 | u64::from(*byte))
}

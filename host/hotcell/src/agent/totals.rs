//! What the runs of a conversation used together.

use hotcell_agent::RunResult;
use hotcell_core::model::TokenUsage;

/// What all runs of a conversation used together; the counters of one run are in its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Runs that ended, or came to stand still.
    pub runs: u64,
    /// Replies of the model.
    pub turns: u64,
    /// Tool calls counted against budgets.
    pub tool_calls: u64,
    /// Tokens used.
    pub tokens: TokenUsage,
}

impl Totals {
    pub(super) fn add(&mut self, result: &RunResult) {
        self.runs = self.runs.saturating_add(1);
        self.turns = self.turns.saturating_add(u64::from(result.turns));
        self.tool_calls = self.tool_calls.saturating_add(u64::from(result.tool_calls));
        self.tokens = self.tokens.plus(result.tokens);
    }
}

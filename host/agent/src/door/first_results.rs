//! The first results of a run, for the calls that repeat themselves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hotcell_core::call::{CallReport, Usage};
use hotcell_core::canonical;
use hotcell_core::ids::{Digest, ToolName};
use serde_json::Value;

use crate::answer::Answer;
use crate::shape;

/// Most results that are kept; those of later calls are not.
const MAX_RESULTS: usize = 1_024;

/// Most bytes of results that are kept.
const MAX_BYTES: usize = 16 << 20;

/// What calls came to, by tool and arguments. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct FirstResults(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    answers: BTreeMap<Key, Answer>,
    bytes: usize,
}

/// A tool and the digest of the canonical form of its arguments.
type Key = (ToolName, Digest);

fn key(tool: &ToolName, arguments: &Value) -> Option<Key> {
    // Arguments without a canonical form are like no others.
    Some((tool.clone(), canonical::hash(arguments).ok()?))
}

impl FirstResults {
    /// The answer an earlier call came to.
    pub(super) fn of(&self, tool: &ToolName, arguments: &Value) -> Option<Answer> {
        let key = key(tool, arguments)?;
        self.held().answers.get(&key).cloned()
    }

    /// Keeps a good answer, unless there is one already or no room is left.
    pub(super) fn keep(&self, tool: &ToolName, arguments: &Value, answer: &Answer) {
        if !answer.report.outcome.is_ok() || answer.cached {
            return;
        }
        let Some(key) = key(tool, arguments) else { return };
        let bytes = answer.text.len().saturating_add(shape::content_bytes(&answer.report));
        let mut held = self.held();
        let after = held.bytes.saturating_add(bytes);
        if held.answers.len() < MAX_RESULTS && after <= MAX_BYTES && !held.answers.contains_key(&key) {
            held.bytes = after;
            held.answers.insert(key, as_repeated(answer));
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // What is kept is whole between two statements that could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer as the calls that repeat it get it: the tool did not run for them and used nothing.
fn as_repeated(answer: &Answer) -> Answer {
    let report = CallReport { usage: Usage::default(), ..answer.report.as_ref().clone() };
    Answer { cached: true, tool: None, report: Arc::new(report), ..answer.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_kept_is_bounded_in_number_and_in_bytes() {
        let tool = ToolName::parse("t").unwrap();
        let results = FirstResults::default();
        let large = Answer::new(CallReport::text("x".repeat(MAX_BYTES / 3)), 10);
        for n in 0..4 {
            results.keep(&tool, &json!({"large": n}), &large);
        }
        let kept = (0..4).filter(|n| results.of(&tool, &json!({"large": n})).is_some()).count();
        assert_eq!(kept, 2, "with its text a third of the bytes is more than a third");
        let small = Answer::new(CallReport::text("y"), 10);
        for n in 0..MAX_RESULTS + 10 {
            results.keep(&tool, &json!({"n": n}), &small);
        }
        assert_eq!(results.held().answers.len(), MAX_RESULTS);
        assert!(results.of(&tool, &json!({"large": 0})).is_some(), "the first ones stay");
    }
}

//! Whether everything came as it has to.

use std::collections::BTreeSet;
use std::time::Duration;

use hotcell::{CallRecord, RunResult, Usage};
use serde::Serialize;

use super::attacks::{ATTACKS, Attack, ended};
use super::heartbeat::Pulse;
use super::ledger::Ledger;
use super::scene::Scene;

/// The note the answer is written into.
pub(super) const NOTE: &str = "third quarter";

/// The end of the demo.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    /// Whether every expectation held.
    pub(super) ok: bool,
    /// Those that did not.
    pub(super) problems: Vec<String>,
    pub(super) answer: String,
    pub(super) note: Option<String>,
    pub(super) attacks: Vec<Row>,
    pub(super) heartbeat: Beats,
    /// How the run ended.
    pub(super) run: &'static str,
    pub(super) elapsed_ms: u64,
}

/// One attack as it ended.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) tool: String,
    pub(super) tries: &'static str,
    /// How it has to end; nothing is expected of a component of somebody else.
    pub(super) expected: Option<String>,
    /// The code, and what tells it from another of the same name.
    pub(super) ended: String,
    pub(super) outcome: Option<&'static str>,
    pub(super) held: bool,
    pub(super) usage: Usage,
}

/// The other calls.
#[derive(Debug, Serialize)]
pub(super) struct Beats {
    pub(super) answered: u64,
    pub(super) worst_us: u64,
}

/// What a run is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    /// The script calls everything.
    Script,
    /// A model of somebody else may leave calls out; those it makes have to end as they have to.
    Other,
}

impl Verdict {
    pub(super) fn new(
        scene: &Scene,
        result: &RunResult,
        (pulse, failure): (Pulse, Option<String>),
        model: Model,
    ) -> Self {
        let mut problems = Vec::new();
        let attacks: Vec<_> = result.calls.iter().filter_map(|call| row(scene, call)).collect();
        for row in attacks.iter().filter(|row| !row.held) {
            let expected = row.expected.as_deref().unwrap_or("an end");
            problems.push(format!("{} ended with {}, expected {expected}", row.tool, row.ended));
        }
        let called: BTreeSet<_> = result.calls.iter().map(|call| call.tool.as_str()).collect();
        if model == Model::Script {
            let missing = ATTACKS.iter().filter(|attack| !called.contains(attack.tool));
            problems.extend(missing.map(|attack| format!("{} was not called", attack.tool)));
        }
        if !result.ok() {
            let error = result.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            problems.push(format!("the run ended with {}{error}", result.outcome()));
        }
        let answer = result.output.clone().unwrap_or_default();
        let note = scene.note(NOTE);
        problems.extend(missing_figures(&scene.ledger, "the answer", &answer));
        problems.extend(missing_figures(&scene.ledger, "the note", note.as_deref().unwrap_or_default()));
        problems
            .extend(failure.map(|outcome| format!("another call ended with {outcome} while attacks ran")));
        if pulse.answered == 0 {
            problems.push("no other call was answered while attacks ran".into());
        }
        Self {
            ok: problems.is_empty(),
            problems,
            answer,
            note,
            attacks,
            heartbeat: Beats { answered: pulse.answered, worst_us: micros(pulse.worst) },
            run: result.outcome(),
            elapsed_ms: u64::try_from(result.elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn row(scene: &Scene, call: &CallRecord) -> Option<Row> {
    let attack = Attack::of(&call.tool);
    if attack.is_none() && !scene.attack_tools.contains(&call.tool) {
        return None;
    }
    let report = call.report.as_deref();
    Some(Row {
        tool: call.tool.clone(),
        tries: attack.map_or("a component of somebody else", |attack| attack.tries),
        expected: attack.map(Attack::expected),
        ended: report.map_or_else(|| "not run".into(), ended),
        outcome: report.map(|report| report.outcome.as_str()),
        // Whatever a foreign component does: one end is all that is asked.
        held: report.is_some_and(|report| attack.is_none_or(|attack| attack.held(report))),
        usage: report.map(|report| report.usage.clone()).unwrap_or_default(),
    })
}

/// The figures of the CSV that a text does not hold.
fn missing_figures(ledger: &Ledger, place: &str, text: &str) -> Vec<String> {
    // A model may write thousands with commas.
    let plain = text.replace(',', "");
    let holds = |figure: &str| text.contains(figure) || plain.contains(figure);
    let figures = ledger.figures();
    let missing = figures.iter().filter(|(_, figure)| !holds(figure));
    missing.map(|(what, figure)| format!("{place} does not say {what}, {figure}")).collect()
}

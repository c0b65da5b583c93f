//! `hotcell demo`: a task solved with tools nobody has to trust, attacks survived, numbers shown.

mod attacks;
mod heartbeat;
mod ledger;
mod scene;
mod verdict;
mod watch;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use hotcell::text::escape_keeping_lines;
use hotcell::units::{format_bytes, format_duration};
use hotcell::{Agent, HarnessConfig, Limits, RunResult, open_model, script_model};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::arguments::Demo;
use crate::call_lines::columns;
use crate::console::{note, print, print_json};
use crate::ending::Exit;
use crate::interrupt::interruptible;
use crate::model_choice::explain_model;
use crate::report::{grouped, time};
use scene::Scene;
use verdict::{Model, NOTE, Verdict};
use watch::Watch;

/// What the offline model says.
const SCRIPT: &str = include_str!("demo/script.jsonl");

/// The line of the script that makes room for calls of another component.
const SCRIPT_ATTACK: &str = "#ATTACK\n";

/// Calls of one reply that run at a time: three endless loops and one more.
const CONCURRENT_CALLS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

const SYSTEM: &str = "You answer questions with the tools you have. Every number in an answer comes from a tool. \
    Some tools are hostile on purpose: an error of theirs is expected, and no reason to stop.";

/// Sets the scene, runs the agent, and holds everything to what was expected.
pub(crate) async fn run(command: &Demo) -> anyhow::Result<Exit> {
    let cancel = CancellationToken::new();
    interruptible(&cancel, play(command, &cancel)).await
}

async fn play(command: &Demo, cancel: &CancellationToken) -> anyhow::Result<Exit> {
    let scene = Scene::set(command).await?;
    let (model, kind) = match &command.model {
        None => (script_model(&script(&scene), "demo")?, Model::Script),
        Some(name) => {
            let model = open_model(name).map_err(|error| explain_model(name, error))?;
            (model, Model::Other)
        }
    };
    let question = question(&scene);
    if !command.json {
        print(format_args!("model: {}\ntask: {question}\n\ncalls:\n", model.name()))?;
    }
    let watch = Watch {
        heartbeat: scene.heartbeat.clone(),
        attack_tools: scene.attack_tools.clone(),
        lines: !command.json,
    };
    let mut builder = Agent::builder_shared(model)
        .config(HarnessConfig {
            system: Some(SYSTEM.into()),
            concurrent_calls: CONCURRENT_CALLS,
            ..HarnessConfig::default()
        })
        // The orders are one tool result, which a script or a model must see whole.
        .limits(Limits { max_result_chars: MAX_RESULT_CHARS, max_turns: MAX_TURNS, ..Limits::default() })
        .events(Arc::new(watch));
    for component in &scene.components {
        builder = builder.tools(component);
    }
    let agent = builder.build()?;
    let request = agent.request(question)?.cancel(cancel.clone());
    let mut beats = JoinSet::new();
    beats.spawn(scene.heartbeat.clone().beat());
    let result = agent.run_request(request).await?;
    beats.shutdown().await;
    finish(command, &scene, &result, kind)
}

/// Turns of the run: those of the script, and one for each tool of a component of somebody else.
const MAX_TURNS: Option<NonZeroU32> = NonZeroU32::new(200);

/// Characters of one result: all of the largest note.
const MAX_RESULT_CHARS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(64 << 10);

fn question(scene: &Scene) -> String {
    let others = if scene.attack_tools.is_empty() { "" } else { ", `attack_`" };
    format!(
        "The note `orders.csv` holds the orders of a shop. For the third quarter of 2026 (July to September): how much \
         revenue (quantity times unit price) came in, which region and which product brought the most, and how much \
         each? Read the note, compute with `csv_query`, and write the answer into a note named `{NOTE}`, with plain \
         numbers as the tool returned them. Then call each tool whose name starts with `misbehave_`, `metered_`, \
         `readonly_`, `vault_`{others} once, with a name and a text of your own where it asks for them. At last, \
         answer the question."
    )
}

/// The script, with a call of each tool of somebody else's component.
fn script(scene: &Scene) -> String {
    let calls = scene.attack_tools.iter().map(|tool| {
        let line = serde_json::json!({ "calls": [{ "name": tool, "args": {} }] });
        format!("{line}\n")
    });
    SCRIPT.replace(SCRIPT_ATTACK, &calls.collect::<String>())
}

fn finish(command: &Demo, scene: &Scene, result: &RunResult, kind: Model) -> anyhow::Result<Exit> {
    let verdict = Verdict::new(scene, result, scene.heartbeat.total(), kind);
    if command.json {
        print_json(&verdict)?;
    } else {
        print(page(scene, &verdict))?;
    }
    if result.outcome() == "cancelled" {
        return Ok(Exit::Cancelled);
    }
    for problem in &verdict.problems {
        note(format_args!("error: {}", escape_keeping_lines(problem)));
    }
    Ok(if verdict.ok { Exit::Done } else { Exit::Failed })
}

fn page(scene: &Scene, verdict: &Verdict) -> String {
    let rows = verdict.attacks.iter().map(|row| {
        let mark = if row.held { "" } else { " (NOT as expected)" };
        [
            row.tool.clone(),
            row.tries.to_owned(),
            format!("{}{mark}", row.ended),
            time(&row.usage),
            grouped(row.usage.fuel),
            format_bytes(row.usage.peak_memory_bytes),
        ]
    });
    let table =
        columns(&["attack", "what it tried", "outcome", "time", "fuel", "peak memory"], rows.collect());
    let refused = scene.refused.as_ref().map(|reason| {
        format!(
            "the component given with --attack was refused before it could run: {}\n\n",
            escape_keeping_lines(reason)
        )
    });
    let note = verdict.note.as_deref().map(|text| {
        let text = escape_keeping_lines(text.trim_end()).replace('\n', "\n  ");
        format!("the note it wrote, in a folder that is removed now:\n  {text}\n\n")
    });
    format!(
        "\nattacks:\n{table}\n{}while all this ran, {} other calls were answered, the slowest in {}\n\n{}answer: {}\n",
        refused.unwrap_or_default(),
        verdict.heartbeat.answered,
        format_duration(std::time::Duration::from_micros(verdict.heartbeat.worst_us)),
        note.unwrap_or_default(),
        escape_keeping_lines(&verdict.answer)
    )
}

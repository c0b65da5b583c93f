//! `hotcell run`: an agent works on one prompt.

mod grants;

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ArgMatches;
use futures::future::BoxFuture;
use hotcell::event::{EventSink, RunEvent, SinkError};
use hotcell::{
    Agent, AgentError, Component, DEFAULT_MODEL, LimitOverrides, Model, Policy, RunResult,
    model_from_environment, open_model, run_limits,
};
use tokio_util::sync::CancellationToken;

use crate::approve::AtTerminal;
use crate::arguments::Run;
use crate::call_lines::{line, summary, table};
use crate::component_source;
use crate::console::{note, print_foreign, print_json};
use crate::ending::{Complaint, Exit};
use crate::interrupt::interruptible;
use crate::world::{World, add_grants, note_warning};

/// Bytes of a prompt from standard input.
const MAX_PROMPT_BYTES: u64 = 1 << 20;

/// Runs the agent and shows what happens.
pub(crate) async fn run(command: &Run, matches: &ArgMatches) -> anyhow::Result<Exit> {
    let in_force = command.policy.load()?;
    let model = choose_model(command.model.as_deref(), &in_force.policy)?;
    let prompt = read_prompt(&command.prompt)?;
    let cancel = CancellationToken::new();
    let work = async {
        let components = load_components(command, matches, &in_force.policy).await?;
        work(command, &in_force.policy, model, prompt, (&components, &cancel)).await
    };
    match interruptible(&cancel, work).await {
        Some(result) => finish(command, result?),
        None => Ok(Exit::Cancelled),
    }
}

async fn work(
    command: &Run,
    policy: &Policy,
    model: Arc<dyn Model>,
    prompt: String,
    (components, cancel): (&[Component], &CancellationToken),
) -> anyhow::Result<RunResult> {
    let mut limits = run_limits(&policy.run);
    limits.max_turns = command.max_turns.or(limits.max_turns);
    limits.max_time = command.max_time.or(limits.max_time);
    let mut builder = Agent::builder_shared(model)
        .limits(limits)
        .approver(Arc::new(AtTerminal::new(components)))
        .events(Arc::new(Lines));
    if let Some(text) = &command.system {
        builder = builder.system(text);
    }
    for component in components {
        builder = builder.tools(component);
    }
    let agent = builder.build().map_err(explain_build)?;
    let request = agent.request(prompt)?.cancel(cancel.clone());
    Ok(agent.run_request(request).await?)
}

/// What cannot be offered is for the operator to cure.
fn explain_build(error: AgentError) -> Complaint {
    match error {
        AgentError::Offer(hotcell::OfferError::Component(error)) => error.into(),
        error => Complaint::usage("the tools cannot be used together")
            .because(error)
            .help("give the components a `prefix` or the tools a `rename` in the policy"),
    }
}

/// The model that is named first: by the command line, the environment, the policy, or nobody.
pub(crate) fn choose_model(typed: Option<&str>, policy: &Policy) -> Result<Arc<dyn Model>, Complaint> {
    let name = typed
        .map(str::to_owned)
        .or_else(model_from_environment)
        .or_else(|| policy.run.model.clone())
        .unwrap_or_else(|| DEFAULT_MODEL.into());
    open_model(&name).map_err(|error| {
        Complaint::usage(format!("model `{}` cannot be used", hotcell::text::escape_control(&name)))
            .because(error)
            .help("name another one with --model, HOTCELL_MODEL or the policy's `run.model`, such as `openai/gpt-4.1` with OPENAI_API_KEY set")
            .help("stay offline with --model script:FILE, a file with one reply per line such as {\"text\": \"Hello.\"}")
    })
}

fn read_prompt(typed: &str) -> Result<String, Complaint> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| Complaint::usage("the prompt cannot be read from standard input").because(error))?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > MAX_PROMPT_BYTES) {
        return Err(Complaint::usage("the prompt on standard input has more than 1 MiB"));
    }
    if text.trim().is_empty() {
        return Err(Complaint::usage("the prompt on standard input is empty"));
    }
    Ok(text)
}

/// Loads what `--tool` names; without it, every component of the policy that has a source.
async fn load_components(
    command: &Run,
    matches: &ArgMatches,
    policy: &Policy,
) -> anyhow::Result<Vec<Component>> {
    let world = World::new(policy, LimitOverrides::default())?;
    let typed = grants::by_tool(matches, &command.grants)?;
    let files: Vec<PathBuf> = if command.tools.is_empty() {
        policy.components.values().filter_map(|component| component.source.clone()).collect()
    } else {
        command.tools.clone()
    };
    let mut components = Vec::with_capacity(files.len());
    for (index, file) in files.iter().enumerate() {
        let component = component_source::load(&world.sandbox, file).await?;
        note_warning(&component);
        let component = component.under(policy).map_err(Complaint::from)?;
        let grants = add_grants(component.grants(), &typed.of(index))?;
        components.push(component.grant(grants));
    }
    Ok(components)
}

/// Shows events as they come.
struct Lines;

impl EventSink for Lines {
    fn send(&self, event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>> {
        if let Some(line) = line(&event.kind) {
            note(line);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

fn finish(command: &Run, result: RunResult) -> anyhow::Result<Exit> {
    if command.json {
        print_json(&result)?;
    } else {
        if let Some(table) = table(&result) {
            note(format_args!("\n{}", table.trim_end()));
        }
        note(format_args!("{}\n", summary(&result)));
        if let Some(output) = &result.output {
            print_foreign(output)?;
        }
    }
    let cancelled = result.outcome() == "cancelled";
    match result.into_result() {
        Ok(_good) => Ok(Exit::Done),
        Err(_) if cancelled => Ok(Exit::Cancelled),
        Err(error) => Ok(crate::console::complain(&error.into(), false)),
    }
}

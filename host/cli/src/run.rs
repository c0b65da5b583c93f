//! `hotcell run`: an agent works on one prompt.

mod attachments;
mod grants;
mod output_schema;

use std::io::Read as _;
use std::sync::Arc;

use clap::ArgMatches;
use futures::future::BoxFuture;
use hotcell::event::{EventSink, RunEvent, SinkError};
use hotcell::policy::RunPolicy;
use hotcell::{
    Agent, AgentError, Component, LimitOverrides, LogRing, Model, Policy, ResultFolder, ResultFolderLimits,
    RunResult, results_dir, run_limits,
};
use tokio_util::sync::CancellationToken;

use crate::approve::AtTerminal;
use crate::arguments::Run;
use crate::call_lines::{line, summary, table};
use crate::component_source;
use crate::console::{note, print_foreign, print_json};
use crate::ending::{Complaint, Exit};
use crate::interrupt::{interruptible, unless_cancelled};
use crate::load_lines::LoadLines;
use crate::model_choice::choose_model;
use crate::report::log_line;
use crate::world::{World, add_grants, note_warning};

/// Bytes of a prompt from standard input.
const MAX_PROMPT_BYTES: u64 = 1 << 20;

/// Runs the agent and shows what happens.
pub(crate) async fn run(command: &Run, matches: &ArgMatches) -> anyhow::Result<Exit> {
    let in_force = command.policy.load()?;
    let prompt = read_prompt(&command.prompt)?;
    let model = choose_model(command.model.as_deref(), &in_force.policy)?;
    let settings = run_policy(command, &in_force.policy.run);
    let schema = output_schema::load(settings.output_schema.as_deref())?;
    let attached = attachments::load(&settings.attach)?;
    let cancel = CancellationToken::new();
    let work = async {
        let policy = &in_force.policy;
        let world = World::new(policy, LimitOverrides::default(), LoadLines::unless(command.json))?;
        let components = unless_cancelled(&cancel, load_components(&world, command, matches, policy)).await?;
        let agent = build(command, policy, model, &components, &world.log)?;
        let mut request = agent.request(prompt)?.cancel(cancel.clone());
        request.output_schema = schema;
        request.prompt.extend(attached);
        agent.run_request(request).await.map_err(explain_start)
    };
    finish(command, interruptible(&cancel, work).await?)
}

fn build(
    command: &Run,
    policy: &Policy,
    model: Arc<dyn Model>,
    components: &[Component],
    log: &Arc<LogRing>,
) -> Result<Agent, Complaint> {
    let mut builder = Agent::builder_shared(model)
        .limits(run_limits(&run_policy(command, &policy.run)))
        .approver(Arc::new(AtTerminal::new(components)))
        .events(Arc::new(Lines { log: Arc::clone(log) }));
    // Without a folder for them, large results stay in memory.
    if let Some(path) = results_dir() {
        builder = builder.results(Arc::new(ResultFolder::new(path, ResultFolderLimits::default()).store()));
    }
    if let Some(text) = &command.system {
        builder = builder.system(text);
    }
    for component in components {
        builder = builder.tools(component);
    }
    builder.build().map_err(explain_build)
}

/// What the policy says of runs, with what was typed in its place.
fn run_policy(command: &Run, policy: &RunPolicy) -> RunPolicy {
    RunPolicy {
        model: policy.model.clone(),
        max_turns: command.max_turns.or(policy.max_turns),
        max_tool_calls: command.max_tool_calls.or(policy.max_tool_calls),
        max_time: command.max_time.or(policy.max_time),
        strict: if command.strict { Some(true) } else { policy.strict },
        output_schema: command.output_schema.clone().or_else(|| policy.output_schema.clone()),
        attach: if command.attach.is_empty() { policy.attach.clone() } else { command.attach.clone() },
    }
}

/// A request that cannot start is wrong as it was typed.
fn explain_start(error: AgentError) -> anyhow::Error {
    match error {
        AgentError::Setup(error) => Complaint::usage("the run cannot start").because(error).into(),
        error => error.into(),
    }
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

fn read_prompt(typed: &str) -> Result<String, Complaint> {
    if typed != "-" {
        return match typed.trim() {
            "" => Err(Complaint::usage("the prompt is empty").help("say what the agent is to do")),
            _ => Ok(typed.to_owned()),
        };
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
    world: &World,
    command: &Run,
    matches: &ArgMatches,
    policy: &Policy,
) -> Result<Vec<Component>, Complaint> {
    let typed = grants::by_tool(matches, &command.grants)?;
    let mut components = Vec::new();
    for (index, file) in command.tools.iter().enumerate() {
        let component = component_source::load(&world.sandbox, file).await?.under(policy)?;
        let grants = add_grants(component.grants(), &typed.of(index))?;
        components.push(component.grant(grants));
    }
    if components.is_empty() {
        for (name, entry) in &policy.components {
            if let Some(source) = &entry.source {
                components.push(world.sandbox.load(source).await?.named(name).under(policy)?);
            }
        }
    }
    components.iter().for_each(note_warning);
    Ok(components)
}

/// Shows events as they come, and what guests logged.
struct Lines {
    log: Arc<LogRing>,
}

impl EventSink for Lines {
    fn send(&self, event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>> {
        let (logs, let_go) = self.log.take();
        for log in &logs {
            note(format_args!("    {}", log_line(log)));
        }
        if let_go > 0 {
            note(format_args!("    and {let_go} more log records"));
        }
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

//! `hotcell tool call`: one call of one tool, through the same door as the calls of an agent.

use std::sync::Arc;

use hotcell::{
    Asked, CallId, Caller, Component, Definition, Door, DoorRequest, Limits, Outcome, TokioClock, ToolSet,
};
use tokio_util::sync::CancellationToken;

use crate::arguments::ToolCall;
use crate::call_arguments::CallArguments;
use crate::component_source;
use crate::ending::{Complaint, Exit};
use crate::interrupt::{interruptible, unless_cancelled};
use crate::load_lines::LoadLines;
use crate::report::CallOutput;
use crate::world::{World, add_grants, note_warning};

/// Calls the tool and shows how it went.
pub(crate) async fn run(command: &ToolCall) -> anyhow::Result<Exit> {
    let arguments = CallArguments::read(&command.args, std::io::stdin().lock())?;
    let cancel = CancellationToken::new();
    interruptible(&cancel, call(command, &arguments, &cancel)).await
}

async fn call(
    command: &ToolCall,
    arguments: &CallArguments,
    cancel: &CancellationToken,
) -> anyhow::Result<Exit> {
    let in_force = command.policy.load()?;
    let typed = command.limits.overrides();
    let world = World::new(&in_force.policy, typed, LoadLines::unless(command.json))?;
    let component = unless_cancelled(cancel, component_source::load(&world.sandbox, &command.file)).await?;
    note_warning(&component);
    let component = component.under(&in_force.policy).map_err(Complaint::from)?.limits(typed);
    let grants = add_grants(component.grants(), &command.grants)?;
    let component = component.grant(grants);

    let offers = component.offers().map_err(Complaint::from)?;
    let tools = ToolSet::new(offers).map_err(|error| {
        Complaint::failed("invalid_definitions", "the tools of the component cannot be offered")
            .because(error)
    })?;
    let definitions = tools.definitions();
    let (tool, schema) = choose(&component, &definitions, command.name.as_deref())?;
    let text = arguments.to_json(&schema)?;
    let id = CallId::parse("tool-call").map_err(anyhow::Error::from)?;
    let mut request = DoorRequest::new(Caller::local(), id, &tool, text);
    request.cancel = cancel.clone();
    let door = Door::new(Arc::new(tools), Arc::new(Limits::default()), Arc::new(TokioClock));
    let answer = door.call(&request, Asked::Operator).await?;
    let (logs, _let_go) = world.log.take();
    let output = CallOutput {
        report: &answer.report,
        tool: &tool,
        component: component.digest().to_string(),
        logs: logs.into_iter().map(Into::into).collect(),
    };
    if command.json {
        output.print_json()?;
    } else {
        output.print()?;
    }
    Ok(match answer.report.outcome {
        Outcome::Ok => Exit::Done,
        Outcome::Cancelled if cancel.is_cancelled() => Exit::Cancelled,
        _ => Exit::Failed,
    })
}

/// The name the tool is offered by, and the schema of its arguments. A name nobody has goes to the door as it
/// is, which refuses it with its own code.
fn choose(
    component: &Component,
    offered: &[Definition],
    typed: Option<&str>,
) -> Result<(String, serde_json::Value), Complaint> {
    let chosen = match (typed, offered) {
        (None, [only]) => Some(only),
        (None, _) => {
            let names: Vec<_> = offered.iter().map(|tool| tool.name.as_str()).collect();
            let file = component.name();
            return Err(Complaint::usage(format!("component `{file}` has {} tools; name one", names.len()))
                .help(format!("tools: {}", names.join(", "))));
        }
        (Some(name), _) => find(component, offered, name),
    };
    Ok(match chosen {
        Some(tool) => (tool.name.to_string(), tool.input_schema.clone()),
        None => (typed.unwrap_or_default().to_owned(), serde_json::Value::Null),
    })
}

/// The tool that is offered by this name, else the one whose own name it is.
fn find<'a>(component: &Component, offered: &'a [Definition], name: &str) -> Option<&'a Definition> {
    let by_own_name = || {
        let terms = component.terms();
        let own = component.definitions().iter().find(|tool| tool.name.as_str() == name)?;
        terms.exposes(own.name.as_str()).then(|| terms.offered_name(own.name.as_str()).ok()).flatten()
    };
    let is = |name: &str| offered.iter().find(|tool| tool.name.as_str() == name);
    is(name).or_else(|| is(by_own_name()?.as_str()))
}

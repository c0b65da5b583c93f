//! `hotcell policy check`: whether a policy file is right, and fits the components it names.

use std::collections::BTreeMap;
use std::path::Path;

use hotcell::policy::ComponentPolicy;
use hotcell::policy::file::{PolicyErrors, Problem};
use hotcell::text::escape_control;
use hotcell::{Inspection, Policy, PolicyError, Terms, ToolName, inspect_file, load_policy};
use serde::Serialize;

use crate::arguments::PolicyCheck;
use crate::console::{print, print_json};
use crate::ending::{Complaint, Exit};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Output {
    file: String,
    ok: bool,
    /// What is wrong; the policy is refused, or a component it names does not fit.
    problems: Vec<Finding>,
    /// What is worth knowing.
    notes: Vec<String>,
}

/// Something that is wrong.
#[derive(Debug, Serialize)]
struct Finding {
    /// The place in the file, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    /// The key, such as `components.notes.source`.
    key: String,
    message: String,
    help: String,
}

/// Checks the file.
pub(crate) fn run(command: &PolicyCheck) -> anyhow::Result<Exit> {
    let file = command.file.display().to_string();
    let (problems, notes) = match load_policy(&command.file) {
        Ok(policy) => check_components(&policy),
        Err(PolicyError::Refused(errors)) if command.json => (refused(&errors), Vec::new()),
        // The text form of these errors is the best one for people.
        Err(PolicyError::Refused(errors)) => {
            return Err(Complaint::failed("policy", errors.to_string()).into());
        }
        Err(error) => return Err(Complaint::from(error).into()),
    };
    let ok = problems.is_empty();
    if command.json {
        print_json(&Output { file, ok, problems, notes })?;
    } else {
        let shown = escape_control(&file);
        for note in &notes {
            print(format_args!("note: {note}\n"))?;
        }
        if ok {
            print(format_args!("{shown}: good\n"))?;
        } else {
            let texts: Vec<_> = problems
                .iter()
                .map(|found| format!("{}: {}\n  help: {}", found.key, found.message, found.help))
                .collect();
            return Err(Complaint::failed(
                "policy",
                format!("policy file `{shown}` does not fit its components\n{}", texts.join("\n")),
            )
            .into());
        }
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

fn refused(errors: &PolicyErrors) -> Vec<Finding> {
    let finding = |problem: &Problem| Finding {
        line: Some(problem.line),
        column: Some(problem.column),
        key: problem.path.clone(),
        message: format!("expected {}, found {}", problem.expected, problem.found),
        help: problem.help.clone(),
    };
    errors.problems().iter().map(finding).collect()
}

fn check_components(policy: &Policy) -> (Vec<Finding>, Vec<String>) {
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    let mut offered = BTreeMap::new();
    for (name, component) in &policy.components {
        check_directories(name, component, &mut problems);
        match &component.source {
            None => notes.push(format!(
                "component `{}` names no `source`, so its tools are not checked",
                escape_control(name)
            )),
            Some(source) => {
                for tool in check_source(name, policy, source, (&mut problems, &mut notes)) {
                    if let Some(other) = offered.insert(tool.clone(), name) {
                        problems.push(clash(name, other, &tool));
                    }
                }
            }
        }
    }
    (problems, notes)
}

fn clash(name: &str, other: &str, tool: &ToolName) -> Finding {
    let message = format!("component `{}` also offers a tool `{tool}`", escape_control(other));
    finding(name, "tools", message, "give one of the components a `prefix`, or the tool a `rename`")
}

fn finding(name: &str, key: &str, message: String, help: impl Into<String>) -> Finding {
    let key = format!("components.{}.{key}", escape_control(name));
    Finding { line: None, column: None, key, message, help: help.into() }
}

fn check_directories(name: &str, component: &ComponentPolicy, problems: &mut Vec<Finding>) {
    for files in component.grants.files.iter().filter(|files| !files.host.is_dir()) {
        let host = escape_control(&files.host.to_string_lossy());
        let message = format!("`{host}` is not a directory that can be granted");
        problems.push(finding(name, "grants.files", message, "make the directory, or correct `host`"));
    }
}

/// Checks one component and returns the names its tools are offered by.
fn check_source(
    name: &str,
    policy: &Policy,
    source: &Path,
    (problems, notes): (&mut Vec<Finding>, &mut Vec<String>),
) -> Vec<ToolName> {
    let inspection: Inspection = match inspect_file(source) {
        Ok(inspection) => inspection,
        Err(error) => {
            let advice =
                error.advice().unwrap_or_else(|| "correct the path; it starts at the policy file".into());
            let complaint = anyhow::Error::from(error);
            problems.push(finding(name, "source", format!("{complaint:#}"), advice));
            return Vec::new();
        }
    };
    if let Err(error) = inspection.check() {
        problems.push(finding(name, "source", error.to_string(), error.advice()));
    }
    let terms = match Terms::new(name).under(policy, inspection.digest) {
        Ok(terms) => terms,
        Err(error) => {
            let advice = error.advice().unwrap_or_default();
            problems.push(finding(name, "digest", error.to_string(), advice));
            return Vec::new();
        }
    };
    match &inspection.definitions {
        Some(definitions) => {
            if let Err(error) = terms.check_tools(definitions) {
                let advice = error.advice().unwrap_or_default();
                problems.push(finding(name, "tools", error.to_string(), advice));
            }
            let own = definitions.iter().map(|tool| tool.name.as_str()).filter(|tool| terms.exposes(tool));
            // A name that cannot be offered was a finding above.
            own.filter_map(|tool| terms.offered_name(tool).ok()).collect()
        }
        None => {
            notes.push(format!(
                "component `{}` has no embedded definitions, so its tools are not checked; `hotcell tool build` embeds them",
                escape_control(name)
            ));
            Vec::new()
        }
    }
}

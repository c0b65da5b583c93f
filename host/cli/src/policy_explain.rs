//! `hotcell policy explain`: why a call would run, ask or not run, and which line decides.

use std::fmt::Write as _;
use std::path::PathBuf;

use hotcell::policy::Verdict;
use hotcell::text::escape_control;
use hotcell::{
    Decided, Digest, Explanation, Grants, Inspection, MissingGrant, Origin, Source, Terms, ToolRuling,
    UnusedGrant, explain, explain_tool, inspect_file, missing_grants, unused_grants,
};
use serde::Serialize;

use crate::arguments::PolicyExplain;
use crate::component_source;
use crate::console::{note, print, print_json};
use crate::ending::{Complaint, Exit};
use crate::policy_option::InForce;
use crate::world::add_grants;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Output<'a> {
    /// The policy file; none when no policy is in force.
    policy: Option<String>,
    #[serde(flatten)]
    explanation: &'a Explanation,
    /// What the component could use and is not given.
    missing: &'a [MissingGrant],
    /// What it is given and never asks for.
    unused: &'a [UnusedGrant],
}

/// Explains one component, or one of its tools.
pub(crate) fn run(command: &PolicyExplain) -> anyhow::Result<Exit> {
    let in_force = command.policy.load()?;
    let (name, inspection) = find(&command.component, &in_force)?;
    let digest = inspection.as_ref().map(|inspection| inspection.digest);
    let pinned = || in_force.policy.components.get(&name).and_then(|entry| entry.digest);
    // Without the component's bytes its entry is taken at its word.
    let digest = digest.or_else(pinned).unwrap_or_else(|| Digest::of(&[]));
    let terms = Terms::new(name).under(&in_force.policy, digest).map_err(Complaint::from)?;
    let definitions = inspection.as_ref().and_then(|inspection| inspection.definitions.as_deref());
    if let Some(definitions) = definitions {
        terms.check_tools(definitions).map_err(Complaint::from)?;
    }
    let typed = add_grants(&Grants::default(), &command.grants)?;
    let mut explanation = explain(&terms, &in_force.places, &typed, definitions);
    if let Some(tool) = &command.tool {
        let ruling = match one(tool, definitions.is_some(), &explanation)? {
            Some(ruling) => ruling,
            None => explain_tool(&terms, &in_force.places, &typed, tool)
                .map_err(|error| Complaint::usage(error.to_string()))?,
        };
        explanation.tools = vec![ruling];
    }
    let policy = in_force.file.as_ref().map(|file| file.display().to_string());
    let granted = terms.grants().overlaid(typed);
    let missing = inspection.as_ref().map(|seen| missing_grants(seen, &granted)).unwrap_or_default();
    let unused = inspection.as_ref().map(|seen| unused_grants(seen, &granted)).unwrap_or_default();
    let output = Output { policy, explanation: &explanation, missing: &missing, unused: &unused };
    if command.json {
        print_json(&output)?;
    } else {
        print(describe(&output))?;
    }
    Ok(Exit::Done)
}

/// The entry of this name with what its `source` is, else the file of this name.
fn find(component: &str, in_force: &InForce) -> Result<(String, Option<Inspection>), Complaint> {
    if let Some(entry) = in_force.policy.components.get(component) {
        let inspection = match &entry.source {
            None => None,
            Some(source) => match inspect_file(source) {
                Ok(inspection) => Some(inspection),
                Err(error) => {
                    note(format_args!("note: its tools are not known: {:#}", anyhow::Error::from(error)));
                    None
                }
            },
        };
        return Ok((component.to_owned(), inspection));
    }
    let file = PathBuf::from(component);
    let bytes = component_source::read(&file).map_err(|complaint| {
        let names: Vec<_> = in_force.policy.components.keys().map(|name| escape_control(name)).collect();
        if names.is_empty() || file.exists() {
            complaint
        } else {
            complaint.help(format!("or name an entry of the policy: {}", names.join(", ")))
        }
    })?;
    let inspection = hotcell::inspect(&bytes)
        .map_err(|source| hotcell::ComponentError::Component { name: file.display().to_string(), source })?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((stem, Some(inspection)))
}

/// The ruling on one tool, by its own name or the one models use; none when nobody knows the tools.
fn one(tool: &str, all_known: bool, explanation: &Explanation) -> Result<Option<ToolRuling>, Complaint> {
    let by_name = |ruling: &&ToolRuling| ruling.tool == tool || ruling.offered_as.as_deref() == Some(tool);
    let found = explanation.tools.iter().find(by_name);
    if found.is_some() || !all_known {
        return Ok(found.cloned());
    }
    let known: Vec<_> = explanation.tools.iter().map(|ruling| ruling.tool.as_str()).collect();
    let (component, tool) = (escape_control(&explanation.component), escape_control(tool));
    Err(Complaint::usage(format!("component `{component}` has no tool `{tool}`"))
        .help(format!("tools: {}", known.join(", "))))
}

fn describe(output: &Output<'_>) -> String {
    let explanation = output.explanation;
    let file = output.policy.as_deref().map(escape_control);
    let mut page = Page { text: String::new(), file };
    let component = escape_control(&explanation.component);
    let heading = match (&page.file, &explanation.entry) {
        (None, _) => "no policy is in force, so what is built in holds".to_owned(),
        (Some(file), None) => format!("{file} has no entry for it, so only `defaults` hold"),
        (Some(_), Some(entry)) => page.at(entry),
    };
    page.line(format_args!("{component}: {heading}"));
    page.line("\nThe component:");
    if explanation.grants.is_empty() {
        page.line("  reaches nothing outside of a call");
    }
    for grant in &explanation.grants {
        let at = page.at(&grant.by);
        let instead = grant.instead_of.as_ref().map(|other| format!(", in place of {}", page.at(other)));
        page.line(format_args!("  {}\n      {at}{}", grant.text, instead.unwrap_or_default()));
    }
    for missing in output.missing {
        page.line(format_args!("  {}", missing.without));
    }
    for unused in output.unused {
        page.line(format_args!("  is given more than it uses: {}", unused.because));
    }
    for tool in &explanation.tools {
        describe_tool(&mut page, tool);
    }
    if explanation.tools.is_empty() {
        page.line("\nIts tools are not known: they are not embedded, and the policy names none.");
    }
    page.text
}

fn describe_tool(page: &mut Page, tool: &ToolRuling) {
    let verdict = match tool.verdict {
        None => "models do not see it",
        Some(Verdict::Allow) => "runs",
        Some(Verdict::Ask) => "asks first; without a terminal it is denied",
        Some(Verdict::Deny) => "never runs",
    };
    let name = escape_control(&tool.tool);
    page.line(format_args!("\n{name}: {verdict}"));
    page.line(format_args!("  because {}", tool.reason));
    if let Some(offered) = tool.offered_as.as_ref().filter(|offered| **offered != tool.tool) {
        page.line(format_args!("  models call it {offered}"));
    }
    if let Some(by) = &tool.named_by {
        let at = page.at(by);
        page.line(format_args!("      {at}"));
    }
    for decided in std::iter::once(&tool.permission).chain(&tool.limits) {
        describe_value(page, decided);
    }
    if let Some(wish) = tool.author_timeout_ms {
        page.line(format_args!("  the timeout is lowered to {wish} ms, which its author thinks is enough"));
    }
    if let Some(setting) = &tool.to_allow {
        page.line(format_args!("  this would let it run: {setting}"));
    }
}

fn describe_value(page: &mut Page, decided: &Decided) {
    let at = page.at(&decided.by);
    page.line(format_args!("  {} = {}  ({at})", decided.subject, decided.value));
    for other in &decided.instead_of {
        let at = page.at(&other.by);
        page.line(format_args!("      not {}  ({at})", other.value));
    }
}

struct Page {
    text: String,
    file: Option<String>,
}

impl Page {
    fn line(&mut self, text: impl std::fmt::Display) {
        if writeln!(self.text, "{text}").is_err() {
            unreachable!("writing to a string cannot fail");
        }
    }

    /// Where something is said, as editors and people read it.
    fn at(&self, source: &Source) -> String {
        let key = source.key.as_deref().map(escape_control).unwrap_or_default();
        match (source.origin, source.place, &self.file) {
            (Origin::Typed, ..) => "typed".to_owned(),
            (Origin::BuiltIn, ..) => "built in".to_owned(),
            (_, Some(place), Some(file)) => format!("{file}:{}:{} {key}", place.line, place.column),
            (_, _, _) => key,
        }
    }
}

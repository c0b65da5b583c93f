//! An inspection as people read it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use hotcell::policy::Verdict;
use hotcell::text::{cap_chars, escape_control};
use hotcell::units::{format_bytes, format_duration};
use hotcell::{Definition, Grants, Inspection, MissingGrant, Standing, Terms};
use serde::Serialize;

use crate::report::{grouped, shortened};

/// Characters of a description that are shown.
const DESCRIPTION_CHARS: usize = 100;

/// What a policy makes of the component.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyView {
    /// The policy file.
    file: String,
    /// The entry that holds for the component; none when only the defaults do.
    entry: Option<String>,
    /// What the component may reach.
    grants: Grants,
    /// What holds for each tool; empty when the definitions are not embedded.
    tools: Vec<ToolView>,
}

/// What a policy makes of one tool.
#[derive(Debug, Serialize)]
struct ToolView {
    /// Its own name.
    tool: String,
    /// The name models call it by; none when it is not exposed.
    offered_as: Option<String>,
    /// What happens when a model calls it.
    verdict: Verdict,
    timeout_ms: u64,
    memory_bytes: u64,
    fuel: u64,
}

impl PolicyView {
    pub(crate) fn new(terms: &Terms, file: &Path, inspection: &Inspection) -> Self {
        let grants = terms.grants();
        let reaches = grants.reaches_outside();
        let tool = |known: &Definition| {
            let name = known.name.as_str();
            let limits = terms.limits(name);
            let offered = terms.exposes(name).then(|| terms.offered_name(name).ok()).flatten();
            ToolView {
                tool: name.to_owned(),
                offered_as: offered.map(|name| name.to_string()),
                verdict: terms.permission(name).verdict(reaches),
                timeout_ms: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
                memory_bytes: limits.memory_bytes,
                fuel: limits.fuel,
            }
        };
        Self {
            file: file.display().to_string(),
            entry: terms.has_entry().then(|| terms.name().to_owned()),
            tools: inspection.definitions.iter().flatten().map(tool).collect(),
            grants,
        }
    }

    /// What the component may reach.
    pub(super) fn grants(&self) -> &Grants {
        &self.grants
    }
}

/// What is shown beside the inspection.
#[derive(Debug)]
pub(crate) struct Beside<'a> {
    /// What a policy makes of it; none when no policy is in force.
    pub(crate) policy: Option<&'a PolicyView>,
    /// What it could use and is not given.
    pub(crate) missing: &'a [MissingGrant],
    /// How many characters of each tool's text a reader does not see.
    pub(crate) hidden: &'a BTreeMap<String, usize>,
}

/// The whole page.
pub(crate) fn describe(file: &str, inspection: &Inspection, beside: &Beside<'_>) -> String {
    let mut page = Page::default();
    page.line(format_args!("{}: a component of {}", escape_control(file), format_bytes(inspection.bytes)));
    page.line(format_args!("digest: {}", inspection.digest));
    tools(&mut page, inspection);
    for (tool, count) in beside.hidden {
        page.line(format_args!(
            "  WARNING: the text of {tool} has {count} hidden characters, which a model reads and you do not see"
        ));
    }
    page.line("\nWhatever is granted, the component:");
    for ceiling in &inspection.ceilings {
        page.line(format_args!("  {}", ceiling.text));
    }
    imports(&mut page, inspection);
    let core = &inspection.core;
    page.line(format_args!(
        "\nmade of: {} core modules, {} memories of {} at the start, {} tables, {} start functions",
        core.modules,
        core.memories,
        format_bytes(core.minimum_memory_bytes),
        core.tables,
        core.start_functions
    ));
    let producers: Vec<_> = inspection
        .producers
        .iter()
        .map(|producer| escape_control(format!("{} {}", producer.name, producer.version).trim_end()))
        .collect();
    if !producers.is_empty() {
        page.line(format_args!("made by, as it says itself: {}", producers.join(", ")));
    }
    match beside.policy {
        Some(policy) => under_policy(&mut page, policy),
        None => page.line("\nwithout a policy or --grant it reaches nothing outside of its calls:"),
    }
    for missing in beside.missing {
        page.line(format_args!("  {}", missing.without));
    }
    page.line(match inspection.check() {
        Ok(()) => "\nit can be loaded here, as far as can be told without compiling it",
        Err(_) => "\nit CANNOT be loaded here",
    });
    page.text()
}

/// Text that grows by lines.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    pub(super) fn line(&mut self, text: impl std::fmt::Display) {
        if writeln!(self.0, "{text}").is_err() {
            unreachable!("writing to a string cannot fail");
        }
    }

    pub(super) fn text(self) -> String {
        self.0
    }
}

fn tools(page: &mut Page, inspection: &Inspection) {
    let Some(definitions) = &inspection.definitions else {
        match &inspection.tool_interface {
            Some(version) => page.line(format_args!(
                "\ntools: not embedded; it exports hotcell:tool/tools@{version} and is asked when it is loaded, \
                 under limits and without grants\n  help: `hotcell tool build` embeds them, so that listing never runs anything"
            )),
            None => page.line("\ntools: none; it does not export hotcell:tool/tools, so it cannot be called"),
        }
        return;
    };
    page.line(format_args!("\ntools ({}), as embedded in the component:", definitions.len()));
    for definition in definitions {
        let hints = [
            (definition.hints.read_only, "read-only"),
            (definition.hints.destructive, "destructive"),
            (definition.hints.idempotent, "idempotent"),
            (definition.hints.open_world, "open-world"),
        ];
        let claims: Vec<_> =
            hints.into_iter().filter(|(claimed, _)| *claimed == Some(true)).map(|(_, word)| word).collect();
        let claims =
            if claims.is_empty() { String::new() } else { format!("  [claims: {}]", claims.join(", ")) };
        let first = definition.description.lines().next().unwrap_or_default();
        page.line(format_args!(
            "  {}({}){claims}\n      {}",
            definition.name,
            parameters(&definition.input_schema),
            shortened(first, DESCRIPTION_CHARS)
        ));
    }
}

/// The names of the arguments; the optional ones with a question mark.
fn parameters(schema: &serde_json::Value) -> String {
    let required: Vec<_> = schema
        .get("required")
        .and_then(|names| names.as_array())
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str())
        .collect();
    let properties = schema.get("properties").and_then(|all| all.as_object());
    let names = properties.into_iter().flat_map(|all| all.keys()).map(|name| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("{}{mark}", escape_control(&cap_chars(name, 40)))
    });
    names.collect::<Vec<_>>().join(", ")
}

fn imports(page: &mut Page, inspection: &Inspection) {
    page.line("\nimports:");
    if inspection.imports.is_empty() {
        page.line("  none");
    }
    for group in &inspection.imports {
        let version = group.version.as_deref().map(|version| format!("@{version}")).unwrap_or_default();
        let standing = match group.standing {
            Standing::Baseline => "always there, and empty unless something is granted",
            Standing::Closed => "there, and refuses everything",
            Standing::Service => "a service of the host",
            Standing::NotYet => "NOT AVAILABLE in this version; with it the component cannot be loaded",
            Standing::Unknown => "UNKNOWN; with it the component cannot be loaded",
        };
        let interfaces: Vec<_> = group.interfaces.iter().map(|name| escape_control(name)).collect();
        page.line(format_args!("  {}{version}: {standing}", escape_control(&group.package)));
        if !interfaces.is_empty() {
            page.line(format_args!("      {}", interfaces.join(", ")));
        }
    }
}

fn under_policy(page: &mut Page, policy: &PolicyView) {
    let file = escape_control(&policy.file);
    match &policy.entry {
        Some(entry) => page.line(format_args!("\nunder {file}, entry `{}`:", escape_control(entry))),
        None => page.line(format_args!("\nunder {file}, which has no entry for it (only `defaults` hold):")),
    }
    for files in &policy.grants.files {
        let access = match files.access {
            hotcell::grant::Access::ReadOnly => "reads",
            hotcell::grant::Access::ReadWrite => "reads and writes",
        };
        page.line(format_args!(
            "  {access} {} as {}",
            escape_control(&files.host.to_string_lossy()),
            files.guest
        ));
    }
    for name in policy.grants.env.keys() {
        page.line(format_args!("  sees the environment variable {}", escape_control(name)));
    }
    if policy.grants == Grants::default() {
        page.line("  reaches nothing");
    }
    for tool in &policy.tools {
        let Some(offered) = &tool.offered_as else {
            page.line(format_args!("  {}: not exposed", tool.tool));
            continue;
        };
        let renamed =
            if *offered == tool.tool { String::new() } else { format!(" (models call it {offered})") };
        let verdict = match tool.verdict {
            Verdict::Allow => "runs",
            Verdict::Ask => "asks first",
            Verdict::Deny => "never runs",
        };
        page.line(format_args!(
            "  {}{renamed}: {verdict}; {}, {}, fuel {}",
            tool.tool,
            format_duration(std::time::Duration::from_millis(tool.timeout_ms)),
            format_bytes(tool.memory_bytes),
            grouped(tool.fuel)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_arguments_have_a_question_mark() {
        let schema = serde_json::json!({
            "properties": {"path": {}, "limit": {}}, "required": ["path"]
        });
        assert_eq!(parameters(&schema), "path, limit?");
        assert_eq!(parameters(&serde_json::json!(true)), "");
    }
}

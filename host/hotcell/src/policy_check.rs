//! Whether a policy that can be read also fits the components, directories and limits it speaks of.

use std::collections::BTreeMap;
use std::path::Path;

use hotcell_compiler::Inspection;
use hotcell_core::grant::FileGrant;
use hotcell_core::ids::ToolName;
use hotcell_core::policy::file::{Place, Places, key_path};
use hotcell_core::policy::{ComponentPolicy, Policy};
use hotcell_core::text::escape_control;
use serde::Serialize;

use crate::component::{Terms, inspect_file};
use crate::error::ComponentError;
use crate::reach::unused_grants;

mod limits;

pub use limits::{CALL_MEMORY_BYTES, LONGEST_CALL};

/// How much something matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The policy cannot be used as it is.
    Problem,
    /// It works, and is probably not what was meant.
    Note,
}

/// Something that was noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    #[serde(skip)]
    pub severity: Severity,
    /// The key it is about, such as `components.notes.source`.
    pub key: String,
    /// Where the key stands, or the nearest one that is written.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What is the case.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// Looks at everything the policy names, without compiling or running anything. Reads the components. Blocks.
///
/// `places` are those of the file the policy was read from. The findings come with the problems first.
#[must_use]
pub fn check_policy(policy: &Policy, places: &Places) -> Vec<Finding> {
    let mut check = Check { policy, places, findings: Vec::new() };
    limits::check_all(&mut check);
    let mut offered: BTreeMap<ToolName, &str> = BTreeMap::new();
    for (name, entry) in &policy.components {
        check.directories(name, entry);
        let Some(inspection) = check.source(name, entry) else { continue };
        limits::check_minimums(&mut check, name, &inspection);
        check.unused(name, entry, &inspection);
        for tool in check.tools(name, &inspection) {
            if let Some(other) = offered.insert(tool.clone(), name) {
                let message = format!("component `{}` also offers a tool `{tool}`", escape_control(other));
                let help = "give one of the components a `prefix`, or the tool a `rename`";
                check.problem(&About::entry(name, "tools"), message, help);
            }
        }
    }
    let mut findings = check.findings;
    findings.sort_by_key(|found| (found.severity, found.place));
    findings
}

/// The key a finding is about, and a table around it that is written when the key itself is not.
struct About {
    key: String,
    table: String,
}

impl About {
    /// A key in the entry of a component; the entry itself for an empty key.
    fn entry(component: &str, key: &str) -> Self {
        let table = key_path(&["components", component]);
        let key = if key.is_empty() { table.clone() } else { format!("{table}.{key}") };
        Self { key, table }
    }
}

/// A policy while it is checked.
struct Check<'a> {
    policy: &'a Policy,
    places: &'a Places,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn problem(&mut self, about: &About, message: String, help: impl Into<String>) {
        self.push(Severity::Problem, about, message, help.into());
    }

    fn note(&mut self, about: &About, message: String, help: impl Into<String>) {
        self.push(Severity::Note, about, message, help.into());
    }

    fn push(&mut self, severity: Severity, about: &About, message: String, help: String) {
        let place = self.places.get(&about.key).or_else(|| self.places.get(&about.table));
        self.findings.push(Finding { severity, key: about.key.clone(), place, message, help });
    }

    fn directories(&mut self, name: &str, entry: &ComponentPolicy) {
        let is_missing = |(_, files): &(usize, &FileGrant)| !files.host.is_dir();
        for (index, files) in entry.grants.files.iter().enumerate().filter(is_missing) {
            let host = escape_control(&files.host.to_string_lossy());
            let message = format!("`{host}` is not a directory that can be granted");
            let help = "make the directory, or correct `host`; a relative path starts at the policy file";
            self.problem(&About::entry(name, &format!("grants.files[{index}]")), message, help);
        }
    }

    /// The component behind an entry, when there is one that can be loaded.
    fn source(&mut self, name: &str, entry: &ComponentPolicy) -> Option<Inspection> {
        let Some(source) = &entry.source else {
            let message = "it names no `source`, so its tools are not checked".to_owned();
            let help =
                "add `source`, or check the component with `hotcell tool inspect FILE --policy POLICY`";
            self.note(&About::entry(name, ""), message, help);
            return None;
        };
        match inspect_source(source) {
            Ok(inspection) => Some(inspection),
            Err(error) => {
                let correct = || "correct the path; it starts at the policy file".to_owned();
                let advice = error.advice().unwrap_or_else(correct);
                self.problem(&About::entry(name, "source"), in_one_line(&error), advice);
                None
            }
        }
    }

    fn unused(&mut self, name: &str, entry: &ComponentPolicy, inspection: &Inspection) {
        for unused in unused_grants(inspection, &entry.grants) {
            let key = match unused.capability {
                hotcell_compiler::inspect::Capability::Files => "grants.files",
                _ => "grants.env",
            };
            let help = "remove the grant; it gives nothing";
            self.note(&About::entry(name, key), unused.because.to_owned(), help);
        }
    }

    /// Checks digest and tools, and returns the names the tools are offered by.
    fn tools(&mut self, name: &str, inspection: &Inspection) -> Vec<ToolName> {
        let terms = match Terms::new(name).under(self.policy, inspection.digest) {
            Ok(terms) => terms,
            Err(error) => {
                let advice = error.advice().unwrap_or_default();
                self.problem(&About::entry(name, "digest"), error.to_string(), advice);
                return Vec::new();
            }
        };
        let Some(definitions) = &inspection.definitions else {
            let message = "its definitions are not embedded, so its tools are not checked".to_owned();
            self.note(&About::entry(name, "source"), message, "`hotcell tool build` embeds them");
            return Vec::new();
        };
        if let Err(error) = terms.check_tools(definitions) {
            let key = match &error {
                ComponentError::NoSuchTool { place, tool, .. } if *place != "expose" => {
                    key_path(&[place, tool])
                }
                _ => "expose".to_owned(),
            };
            let advice = error.advice().unwrap_or_default();
            self.problem(&About::entry(name, &key), error.to_string(), advice);
        }
        let mut offered = Vec::new();
        for tool in definitions.iter().map(|tool| tool.name.as_str()).filter(|tool| terms.exposes(tool)) {
            match terms.offered_name(tool) {
                Ok(tool) => offered.push(tool),
                Err(error) => {
                    let message = format!("tool `{tool}` cannot be offered: {error}");
                    let help = "choose a shorter `prefix`, or use `rename`";
                    self.problem(&About::entry(name, "prefix"), message, help);
                }
            }
        }
        offered
    }
}

fn inspect_source(source: &Path) -> Result<Inspection, ComponentError> {
    let inspection = inspect_file(source)?;
    let name = source.display().to_string();
    inspection.check().map_err(|source| ComponentError::Component { name, source })?;
    Ok(inspection)
}

/// An error with its causes.
fn in_one_line(error: &ComponentError) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;

//! `hotcell tool inspect`: what a component is and could ever reach. Nothing of it runs.

mod difference;
mod view;

use std::collections::BTreeMap;

use hotcell::{
    Inspection, MissingGrant, Terms, UnusedGrant, hidden_characters, inspect, missing_grants, unused_grants,
};
use serde::Serialize;

use crate::arguments::ToolInspect;
use crate::component_source;
use crate::console::{complain, print, print_json};
use crate::ending::{Complaint, Exit};
use view::{Beside, PolicyView, describe};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Output<'a> {
    file: String,
    #[serde(flatten)]
    inspection: &'a Inspection,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a PolicyView>,
    /// What it could use and is not given, by the policy or because there is none.
    missing: &'a [MissingGrant],
    /// What the policy gives it and it never asks for.
    unused: Vec<UnusedGrant>,
    /// How many characters of each tool's text a reader does not see; tools without any are left out.
    hidden_characters: &'a BTreeMap<String, usize>,
    /// Whether the component can be loaded by this version, as far as can be told without compiling it.
    loadable: bool,
}

/// Shows the component; one that cannot be loaded is shown as well, and then refused.
pub(crate) fn run(command: &ToolInspect) -> anyhow::Result<Exit> {
    if let Some(newer) = &command.newer {
        return difference::run(command, newer);
    }
    let in_force = command.policy.load()?;
    let bytes = component_source::read(&command.file)?;
    let file = command.file.display().to_string();
    let refused = |source| Complaint::from(hotcell::ComponentError::Component { name: file.clone(), source });
    let inspection = inspect(&bytes).map_err(refused)?;
    let policy = match &in_force.file {
        None => None,
        Some(policy_file) => {
            let stem = command.file.file_stem().unwrap_or_default().to_string_lossy();
            let terms =
                Terms::new(stem).under(&in_force.policy, inspection.digest).map_err(Complaint::from)?;
            if let Some(definitions) = &inspection.definitions {
                terms.check_tools(definitions).map_err(Complaint::from)?;
            }
            Some(PolicyView::new(&terms, policy_file, &inspection))
        }
    };
    let grants = policy.as_ref().map(|policy| policy.grants().clone()).unwrap_or_default();
    let missing = missing_grants(&inspection, &grants);
    let hidden = hidden_characters(inspection.definitions.as_deref().unwrap_or_default());
    let loadable = inspection.check();
    if command.json {
        let output = Output {
            file: file.clone(),
            inspection: &inspection,
            policy: policy.as_ref(),
            missing: &missing,
            unused: unused_grants(&inspection, &grants),
            hidden_characters: &hidden,
            loadable: loadable.is_ok(),
        };
        print_json(&output)?;
    } else {
        let beside = Beside { policy: policy.as_ref(), missing: &missing, hidden: &hidden };
        print(describe(&file, &inspection, &beside))?;
    }
    match loadable {
        Ok(()) => Ok(Exit::Done),
        // Everything that is known was shown; the error comes on top and must not add a second JSON object.
        Err(source) => Ok(complain(&refused(source).into(), false)),
    }
}

//! What an operator allows: checked values, whatever they were read from.

pub mod file;
mod names;
mod paths;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::grant::Grants;
use crate::ids::{Digest, ToolName};
use crate::limits::LimitOverrides;

/// Whether a tool runs when a model asks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Asks when the tool can reach something outside of the call, else runs.
    #[default]
    Auto,
    /// Runs.
    Allow,
    /// Asks an approver; without one the call is denied.
    Ask,
    /// Never runs.
    Deny,
}

/// What [`Permission`] comes to for one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Runs.
    Allow,
    /// Asks.
    Ask,
    /// Never runs.
    Deny,
}

impl Permission {
    /// Decides for a tool that can or cannot reach something outside of the call.
    #[must_use]
    pub const fn verdict(self, reaches_outside: bool) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Ask => Verdict::Ask,
            Self::Deny => Verdict::Deny,
            Self::Auto => {
                if reaches_outside {
                    Verdict::Ask
                } else {
                    Verdict::Allow
                }
            }
        }
    }
}

/// Everything an operator wrote down.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// What holds where nothing more specific is said.
    pub defaults: DefaultPolicy,
    /// The components, by the name the operator gave them.
    pub components: BTreeMap<String, ComponentPolicy>,
    /// What caps a run.
    pub run: RunPolicy,
    /// How components are compiled.
    pub compile: CompilePolicy,
}

/// How components are compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompilePolicy {
    /// What happens when a wall around the compile process cannot be raised.
    pub isolation: Isolation,
}

/// What happens when the system does not offer a wall around the process that compiles a component.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Nothing is compiled.
    Required,
    /// It is compiled behind the walls that stand; which ones do not is reported.
    #[default]
    BestEffort,
}

impl Isolation {
    /// The word for it in policy files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::BestEffort => "best-effort",
        }
    }
}

/// What holds where nothing more specific is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefaultPolicy {
    /// The permission of every tool; `auto` when nothing is said.
    pub permission: Option<Permission>,
    /// Limits of every call.
    pub limits: LimitOverrides,
}

/// What one component may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComponentPolicy {
    /// Where the component is; relative paths start at the policy file.
    pub source: Option<PathBuf>,
    /// The only bytes that are accepted.
    pub digest: Option<Digest>,
    /// The tools that are offered; `None` offers all.
    pub expose: Option<Vec<String>>,
    /// Put in front of every tool name.
    pub prefix: Option<String>,
    /// New names for tools, by their own.
    pub rename: BTreeMap<String, ToolName>,
    /// What the component may reach.
    pub grants: Grants,
    /// The permission of its tools.
    pub permission: Option<Permission>,
    /// Limits of its calls.
    pub limits: LimitOverrides,
    /// What holds for single tools, by their own name.
    pub tools: BTreeMap<String, ToolPolicy>,
}

/// What holds for one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    /// Its permission.
    pub permission: Option<Permission>,
    /// Limits of its calls.
    pub limits: LimitOverrides,
}

/// What caps a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunPolicy {
    /// The model, `provider/model`.
    pub model: Option<String>,
    /// Model replies per run.
    pub max_turns: Option<Bound>,
    /// Tool calls per run.
    pub max_tool_calls: Option<Bound>,
    /// Wall-clock time per run.
    pub max_time: Option<Duration>,
    /// Whether runs begin from the strict limits instead of the default ones.
    pub strict: Option<bool>,
    /// The file with the JSON Schema of the answer; relative paths start at the policy file.
    pub output_schema: Option<PathBuf>,
    /// Files that go with the prompt; relative paths start at the policy file.
    pub attach: Vec<PathBuf>,
}

/// A count, or no bound at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// `"unlimited"`.
    Unlimited,
    /// At most this many.
    AtMost(NonZeroU32),
}

impl Policy {
    /// The permission of one tool: of the tool, else of the component, else the default.
    #[must_use]
    pub fn permission(&self, component: Option<&str>, tool: &str) -> Permission {
        let component = component.and_then(|name| self.components.get(name));
        component
            .and_then(|component| {
                component.tools.get(tool).and_then(|tool| tool.permission).or(component.permission)
            })
            .or(self.defaults.permission)
            .unwrap_or_default()
    }

    /// The limits of one tool: of the tool, else of the component, else the defaults.
    #[must_use]
    pub fn limits(&self, component: Option<&str>, tool: &str) -> LimitOverrides {
        let component = component.and_then(|name| self.components.get(name));
        let of_tool = component.and_then(|component| component.tools.get(tool)).map(|tool| tool.limits);
        let of_component = component.map(|component| component.limits);
        of_tool.unwrap_or_default().or(of_component.unwrap_or_default()).or(self.defaults.limits)
    }
}

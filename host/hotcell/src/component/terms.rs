//! Under which terms a component runs: what its policy entry, the defaults and the program say together.

use std::collections::BTreeSet;

use hotcell_core::grant::Grants;
use hotcell_core::ids::{Digest, IdError, ToolName};
use hotcell_core::limits::{CallLimits, LimitOverrides};
use hotcell_core::policy::{ComponentPolicy, DefaultPolicy, Permission, Policy};
use hotcell_core::tool::Definition;

use serde::Serialize;

use crate::error::ComponentError;

/// The terms of one component. The default is closed: no grants, permission `auto`, built-in limits.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    name: String,
    entry: Option<ComponentPolicy>,
    defaults: DefaultPolicy,
    /// Stronger than everything in the policy; what was typed for this one call or run.
    limits: LimitOverrides,
    permission: Option<Permission>,
}

impl Terms {
    /// The terms of a component that no policy speaks of.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The terms a policy sets: those of an entry with this digest (the one of the component's name before
    /// others), else of the entry with the component's name, else the defaults. The name of the entry
    /// becomes the component's.
    ///
    /// # Errors
    /// The entry accepts other bytes only.
    pub fn under(mut self, policy: &Policy, digest: Digest) -> Result<Self, ComponentError> {
        self.defaults.clone_from(&policy.defaults);
        let pinned = |entry: &ComponentPolicy| entry.digest == Some(digest);
        let by_name = policy.components.get_key_value(&self.name);
        let by_digest = || policy.components.iter().find(|(_, entry)| pinned(entry));
        let found = by_name.filter(|(_, entry)| pinned(entry)).or_else(by_digest).or(by_name);
        let Some((name, entry)) = found else { return Ok(self) };
        self.name.clone_from(name);
        match entry.digest {
            Some(expected) if expected != digest => {
                Err(ComponentError::Digest { name: self.name, expected, found: digest })
            }
            Some(_) | None => {
                self.entry = Some(entry.clone());
                Ok(self)
            }
        }
    }

    /// Checks that every tool the policy speaks of exists.
    ///
    /// # Errors
    /// The first one that does not, and where the policy names it.
    pub fn check_tools(&self, definitions: &[Definition]) -> Result<(), ComponentError> {
        let Some(entry) = &self.entry else { return Ok(()) };
        let exposed = entry.expose.iter().flatten().map(|tool| (tool, "expose"));
        let others = entry.tools.keys().map(|tool| (tool, "tools"));
        let renamed = entry.rename.keys().map(|tool| (tool, "rename"));
        let exists = |tool: &str| definitions.iter().any(|definition| definition.name.as_str() == tool);
        match exposed.chain(others).chain(renamed).find(|(tool, _)| !exists(tool)) {
            None => Ok(()),
            Some((tool, place)) => Err(ComponentError::NoSuchTool {
                name: self.name.clone(),
                tool: tool.clone(),
                place,
                known: definitions.iter().map(|known| known.name.to_string()).collect(),
            }),
        }
    }

    /// The own names of the tools that the policy's entry names, sorted.
    #[must_use]
    pub fn named_tools(&self) -> BTreeSet<&str> {
        let Some(entry) = &self.entry else { return BTreeSet::new() };
        let exposed = entry.expose.iter().flatten();
        exposed.chain(entry.tools.keys()).chain(entry.rename.keys()).map(String::as_str).collect()
    }

    pub(super) fn set_limits(&mut self, limits: LimitOverrides) {
        self.limits = limits.or(self.limits);
    }

    pub(super) fn set_permission(&mut self, permission: Permission) {
        self.permission = Some(permission);
    }

    /// What the operator calls the component.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the policy has an entry for the component.
    #[must_use]
    pub fn has_entry(&self) -> bool {
        self.entry.is_some()
    }

    /// What the policy lets the component reach.
    #[must_use]
    pub fn grants(&self) -> Grants {
        self.entry.as_ref().map(|entry| entry.grants.clone()).unwrap_or_default()
    }

    /// Whether the tool with this name of its own is offered to models.
    #[must_use]
    pub fn exposes(&self, own_name: &str) -> bool {
        self.entry.as_ref().is_none_or(|entry| entry.exposes(own_name))
    }

    /// The name models call the tool by.
    ///
    /// # Errors
    /// The prefix and the name together are no legal tool name.
    pub fn offered_name(&self, own_name: &str) -> Result<ToolName, IdError> {
        match &self.entry {
            Some(entry) => entry.offered_name(own_name),
            None => ToolName::parse(own_name),
        }
    }

    /// What caps a call of the tool: what was typed, else the policy's word on the tool, the component and
    /// all components, else what is built in.
    #[must_use]
    pub fn limits(&self, own_name: &str) -> CallLimits {
        let said = self.said(own_name).into_iter().map(|said| said.limits);
        said.fold(LimitOverrides::default(), LimitOverrides::or).apply(CallLimits::default())
    }

    /// Whether the tool runs when a model asks for it.
    #[must_use]
    pub fn permission(&self, own_name: &str) -> Permission {
        self.said(own_name).into_iter().find_map(|said| said.permission).unwrap_or_default()
    }

    /// Everything that is said about a tool, the most specific first: each value comes from the first that has it.
    #[must_use]
    pub fn said(&self, own_name: &str) -> [Said; 4] {
        let tool =
            self.entry.as_ref().and_then(|entry| entry.tools.get(own_name)).copied().unwrap_or_default();
        let (permission, limits) =
            self.entry.as_ref().map(|entry| (entry.permission, entry.limits)).unwrap_or_default();
        [
            Said { origin: Origin::Typed, permission: self.permission, limits: self.limits },
            Said { origin: Origin::Tool, permission: tool.permission, limits: tool.limits },
            Said { origin: Origin::Component, permission, limits },
            Said {
                origin: Origin::Defaults,
                permission: self.defaults.permission,
                limits: self.defaults.limits,
            },
        ]
    }
}

/// Who says something about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The command line, or the program.
    Typed,
    /// The policy, about the tool.
    Tool,
    /// The policy, about the component.
    Component,
    /// The policy, about all components.
    Defaults,
    /// Nobody, so what is built in holds.
    BuiltIn,
}

/// What one place says about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// Who says it.
    pub origin: Origin,
    /// Whether the tool runs.
    pub permission: Option<Permission>,
    /// What caps a call.
    pub limits: LimitOverrides,
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotcell_core::policy::file::PolicyFile;
    use std::time::Duration;

    const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000001";

    fn policy(body: &str) -> Policy {
        PolicyFile::parse(&format!("version = 1\n{body}"), "p.toml").unwrap()
    }

    #[test]
    fn the_digest_finds_the_entry_before_the_name_does() {
        let policy = policy(&format!(
            "[components.mine]\ndigest = \"{DIGEST}\"\nprefix = \"m_\"\n[components.notes]\nprefix = \"n_\"\n"
        ));
        let by_digest = Terms::new("notes").under(&policy, DIGEST.parse().unwrap()).unwrap();
        assert_eq!((by_digest.name(), by_digest.offered_name("x").unwrap().as_str()), ("mine", "m_x"));
        let same = Terms::new("mine").under(&policy, DIGEST.parse().unwrap()).unwrap();
        assert_eq!(same.name(), "mine");
        let by_name = Terms::new("notes").under(&policy, Digest::of(b"")).unwrap();
        assert_eq!((by_name.name(), by_name.offered_name("x").unwrap().as_str()), ("notes", "n_x"));
        let neither = Terms::new("other").under(&policy, Digest::of(b"")).unwrap();
        assert!(!neither.has_entry());
        assert!(matches!(
            Terms::new("mine").under(&policy, Digest::of(b"")),
            Err(ComponentError::Digest { .. })
        ));
    }

    /// H-70.
    #[test]
    fn the_most_specific_word_wins() {
        let policy = policy(
            "[defaults]\npermission = \"ask\"\nlimits = { timeout = \"1s\", fuel = 1 }\n\
             [components.a]\npermission = \"allow\"\nlimits = { timeout = \"2s\" }\n\
             tools.x = { permission = \"deny\", timeout = \"3s\" }\n",
        );
        let mut terms = Terms::new("a").under(&policy, Digest::of(b"")).unwrap();
        let seconds = |terms: &Terms, tool| terms.limits(tool).timeout.as_secs();
        assert_eq!((seconds(&terms, "x"), seconds(&terms, "y"), terms.limits("x").fuel), (3, 2, 1));
        assert_eq!((terms.permission("x"), terms.permission("y")), (Permission::Deny, Permission::Allow));
        terms.set_limits(LimitOverrides {
            timeout: Some(Duration::from_secs(4)),
            ..LimitOverrides::default()
        });
        assert_eq!(seconds(&terms, "x"), 4);
        let other = Terms::new("b").under(&policy, Digest::of(b"")).unwrap();
        assert_eq!((other.permission("x"), seconds(&other, "x")), (Permission::Ask, 1));
    }
}

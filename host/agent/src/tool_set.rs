//! The tools one run may use: checked and compiled once, then frozen.

mod names;

use std::fmt;
use std::sync::Arc;

use hotcell_core::canonical::CanonicalError;
use hotcell_core::ids::{Digest, ToolName};
use hotcell_core::limits::CallLimits;
use hotcell_core::policy::Permission;
use hotcell_core::replay::{Replay, ToolRetry};
use hotcell_core::tool::{Definition, Tool};
use thiserror::Error;

use self::names::Names;
use crate::oversized::ReadToolResult;
use crate::schema::{Schema, SchemaError};
use crate::wording::quote;

/// Most tools of one set.
pub const MAX_TOOLS: usize = 1_024;

/// A tool and what the operator says about it.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Whether it runs when a model asks for it.
    pub permission: Permission,
    /// What caps its calls; `None` means the profile for code nobody trusts, and for a host tool the
    /// run's own timeout for host tools.
    pub limits: Option<CallLimits>,
    /// The policy line that would allow it without asking; denials and approvals show it.
    pub policy_line: String,
    /// What calling it again means.
    pub replay: Replay,
    /// How a call is tried again after a transient failure, where [`Offer::replay`] allows it.
    pub retry: ToolRetry,
}

impl Offer {
    /// Offers a tool with permission `auto` and default limits.
    pub fn new(tool: impl Tool + 'static, policy_line: impl Into<String>) -> Self {
        Self::shared(Arc::new(tool), policy_line)
    }

    /// Like [`Offer::new`], of a tool that is shared already.
    pub fn shared(tool: Arc<dyn Tool>, policy_line: impl Into<String>) -> Self {
        Self {
            tool,
            permission: Permission::Auto,
            limits: None,
            policy_line: policy_line.into(),
            replay: Replay::Manual,
            retry: ToolRetry::default(),
        }
    }

    /// The same offer with this permission.
    #[must_use]
    pub fn with_permission(mut self, permission: Permission) -> Self {
        self.permission = permission;
        self
    }

    /// The same offer of a tool that may be called again on its own after a transient failure.
    #[must_use]
    pub fn with_replay(mut self, replay: Replay) -> Self {
        self.replay = replay;
        self
    }

    /// The same offer, whose calls are tried again like this, where [`Offer::with_replay`] allows it.
    #[must_use]
    pub fn with_retry(mut self, retry: ToolRetry) -> Self {
        self.retry = retry;
        self
    }

    /// The same offer with these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: CallLimits) -> Self {
        self.limits = Some(limits);
        self
    }
}

/// Says why tools do not make a set.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// Two tools have one name.
    #[error("two tools are named `{name}`; give one of them another name or a prefix")]
    Twice {
        /// The name.
        name: ToolName,
    },
    /// There are too many.
    #[error("{found} tools are too many, at most {MAX_TOOLS} can be offered")]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// A schema cannot be used.
    #[error("tool `{name}`: {which} schema: {source}")]
    Schema {
        /// The tool.
        name: ToolName,
        /// `input` or `output`.
        which: &'static str,
        /// What is wrong with it.
        source: SchemaError,
    },
    /// The definition has no digest an approval could be bound to.
    #[error("tool `{name}`: its definition has no canonical form")]
    Definition {
        /// The tool.
        name: ToolName,
        /// What is wrong with it.
        source: CanonicalError,
    },
}

/// The tools one run may use, in the order in which they were given.
#[derive(Clone, Default)]
pub struct ToolSet {
    slots: Vec<Arc<Slot>>,
    names: Names,
    definitions: Arc<[Definition]>,
}

/// One tool of a set with everything that was computed once.
pub(crate) struct Slot {
    pub(crate) offer: Offer,
    pub(crate) definition: Definition,
    pub(crate) digest: Digest,
    pub(crate) input: Schema,
    pub(crate) output: Option<Schema>,
    /// Whether it is the tool that reads kept results; its own results are within the limit.
    pub(crate) reads_results: bool,
}

impl ToolSet {
    /// Checks the tools and compiles their schemas. Definitions are copied: what a tool answers later
    /// changes nothing.
    ///
    /// # Errors
    /// [`ToolSetError`] names the tool and what is wrong with it.
    pub fn new(offers: impl IntoIterator<Item = Offer>) -> Result<Self, ToolSetError> {
        let mut slots = Vec::new();
        let mut names = Names::default();
        for offer in offers {
            let slot = Slot::new(offer)?;
            if !names.insert(&slot.definition.name, slots.len()) {
                return Err(ToolSetError::Twice { name: slot.definition.name });
            }
            slots.push(Arc::new(slot));
            if slots.len() > MAX_TOOLS {
                return Err(ToolSetError::TooMany { found: slots.len() });
            }
        }
        let definitions = slots.iter().map(|slot| slot.definition.clone()).collect();
        Ok(Self { slots, names, definitions })
    }

    /// The same set with the tool that reads kept results. A tool of the same name in the set stays the only one,
    /// and an empty set stays empty, since nothing of it can be kept.
    ///
    /// # Panics
    /// Never: the tool's schema is a constant that satisfies the rules for schemas.
    #[must_use]
    pub fn with_reader(&self) -> Self {
        let offer = Offer::new(ReadToolResult::new(), "").with_permission(Permission::Allow);
        let name = offer.tool.definition().name.clone();
        let mut set = self.clone();
        if set.is_empty() || set.names.contains(&name) {
            return set;
        }
        let slot = Slot::new(offer).expect("a constant schema that satisfies the rules for schemas");
        set.names.insert(&name, set.slots.len());
        set.slots.push(Arc::new(Slot { reads_results: true, ..slot }));
        set.definitions = set.slots.iter().map(|slot| slot.definition.clone()).collect();
        set
    }

    /// What a model is told, in order. Cloning it is cheap.
    #[must_use]
    pub fn definitions(&self) -> Arc<[Definition]> {
        Arc::clone(&self.definitions)
    }

    /// About how many bytes the definitions take in a request.
    #[must_use]
    pub fn definition_bytes(&self) -> u64 {
        let of_one = |definition: &Definition| {
            definition.name.as_str().len()
                + definition.description.len()
                + definition.input_schema.to_string().len()
        };
        self.definitions.iter().map(|definition| u64::try_from(of_one(definition)).unwrap_or(u64::MAX)).sum()
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The tool this name means: the one of exactly this name, or else the only one it can be repaired to.
    pub(crate) fn find(&self, name: &str, repair: bool) -> Option<&Arc<Slot>> {
        let repaired = || if repair { self.names.repaired(name) } else { None };
        self.slots.get(self.names.exact(name).or_else(repaired)?)
    }

    /// Names that are close to one that does not exist, the closest first.
    pub(crate) fn close_to(&self, name: &str) -> Vec<&str> {
        self.names.close_to(name)
    }
}

impl Slot {
    fn new(offer: Offer) -> Result<Self, ToolSetError> {
        let definition = offer.tool.definition().clone();
        let name = &definition.name;
        let schema = |which, source| ToolSetError::Schema { name: name.clone(), which, source };
        let input =
            Schema::compile_arguments(&definition.input_schema).map_err(|error| schema("input", error))?;
        let output = definition
            .output_schema
            .as_ref()
            .map(Schema::compile)
            .transpose()
            .map_err(|error| schema("output", error))?;
        let digest =
            definition.digest().map_err(|source| ToolSetError::Definition { name: name.clone(), source })?;
        Ok(Self { offer, definition, digest, input, output, reads_results: false })
    }

    /// Whether a call with the arguments of an earlier one has the result of that one: the tool can reach
    /// nothing that could have changed, and its author says that it reads and does not act.
    pub(crate) fn is_pure(&self) -> bool {
        let hints = &self.definition.hints;
        !self.offer.tool.reaches_outside()
            && hints.read_only == Some(true)
            && hints.idempotent == Some(true)
            && hints.open_world != Some(true)
    }

    /// The name of the tool, where another one was written.
    pub(crate) fn meant_by(&self, written: &str) -> Option<ToolName> {
        (self.definition.name.as_str() != written).then(|| self.definition.name.clone())
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names.iter().map(quote)).finish()
    }
}

#[cfg(test)]
mod tests;

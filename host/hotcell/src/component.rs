//! A loaded component, what the operator gives it, and the tools that come of both.

pub(crate) mod load;
mod terms;

use std::path::Path;
use std::sync::Arc;

use hotcell_agent::Offer;
use hotcell_core::grant::Grants;
use hotcell_core::ids::Digest;
use hotcell_core::limits::LimitOverrides;
use hotcell_core::policy::file::allow_line;
use hotcell_core::policy::{Permission, Policy};
use hotcell_core::tool::Definition;
use hotcell_sandbox::LoadedComponent;

pub use load::{inspect_file, read_component};
pub use terms::{Origin, Said, Terms};

use crate::component_tool::ComponentTool;
use crate::error::{ComponentError, Warning};
use crate::guest_services::LogSink;
use crate::sandbox::Sandbox;

/// Where the definitions of a component come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionSource {
    /// They are embedded in the component; nothing ran.
    Embedded,
    /// The component was asked for them, under limits and without grants.
    Asked,
}

/// A loaded component with its definitions frozen, and what the operator gives it: nothing at first.
///
/// Cloning is cheap. [`Component::offers`] turns it into tools.
#[derive(Clone)]
pub struct Component {
    loaded: LoadedComponent,
    definitions: Arc<[Definition]>,
    source: DefinitionSource,
    warnings: Arc<[Warning]>,
    log: Arc<dyn LogSink>,
    sandbox: Sandbox,
    grants: Grants,
    terms: Terms,
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Component")
            .field("name", &self.name())
            .field("digest", &self.digest())
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}

impl Component {
    async fn load_from(
        sandbox: &Sandbox,
        name: String,
        source: load::Source,
    ) -> Result<Self, ComponentError> {
        let loaded = load::load(&sandbox.parts, &name, source).await?;
        let (definitions, source) = match loaded.embedded {
            Some(definitions) => (definitions, DefinitionSource::Embedded),
            None => (load::ask(&name, &loaded.component).await?, DefinitionSource::Asked),
        };
        Ok(Self {
            terms: Terms::new(name),
            loaded: loaded.component,
            definitions: definitions.into(),
            source,
            warnings: loaded.warnings.into(),
            log: Arc::clone(&sandbox.parts.log),
            sandbox: sandbox.clone(),
            grants: Grants::default(),
        })
    }

    pub(crate) async fn load_file(sandbox: &Sandbox, path: &Path) -> Result<Self, ComponentError> {
        Self::load_from(sandbox, load::stem(path), load::Source::File(path.to_path_buf())).await
    }

    pub(crate) async fn load_bytes(
        sandbox: &Sandbox,
        name: String,
        bytes: Arc<[u8]>,
    ) -> Result<Self, ComponentError> {
        Self::load_from(sandbox, name, load::Source::Bytes(bytes)).await
    }

    /// What errors and policy lines call it: the file's stem, or the name of its policy entry.
    #[must_use]
    pub fn name(&self) -> &str {
        self.terms.name()
    }

    /// The same component under another name, that of the policy entry it is meant for.
    ///
    /// Comes before [`Component::under`] and [`Component::limits`], which it takes back.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.terms = Terms::new(name);
        self
    }

    /// The digest of its bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.loaded.digest()
    }

    /// Its tools under their own names, exposed or not.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// Where the definitions come from.
    #[must_use]
    pub fn definition_source(&self) -> DefinitionSource {
        self.source
    }

    /// What did not work as it should while loading and stopped nothing, such as a cache that cannot be written.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// What it may reach.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The same component with these grants in place of those it had. Nothing is opened yet.
    #[must_use]
    pub fn grant(mut self, grants: Grants) -> Self {
        self.grants = grants;
        self
    }

    /// The same component with these limits, which are stronger than those of a policy.
    #[must_use]
    pub fn limits(mut self, limits: LimitOverrides) -> Self {
        self.terms.set_limits(limits);
        self
    }

    /// The same component with this permission for all of its tools, which is stronger than a policy's.
    #[must_use]
    pub fn permission(mut self, permission: Permission) -> Self {
        self.terms.set_permission(permission);
        self
    }

    /// Puts the component under a policy: the entry with its digest, else the one with its name, else the
    /// defaults. Takes that entry's name, grants, limits, permissions, names and selection of tools.
    ///
    /// # Errors
    /// The entry accepts other bytes only, or speaks of a tool that does not exist.
    pub fn under(mut self, policy: &Policy) -> Result<Self, ComponentError> {
        let digest = self.digest();
        self.terms = self.terms.under(policy, digest)?;
        self.terms.check_tools(&self.definitions)?;
        if self.terms.has_entry() {
            self.grants = self.terms.grants();
        }
        Ok(self)
    }

    /// Under which terms it runs.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Opens the grants and makes the tools that are exposed, under the names models call them by.
    ///
    /// # Errors
    /// A directory that cannot be granted, a limit above what the sandbox allows, or a name that is not legal.
    pub fn offers(&self) -> Result<Vec<Offer>, ComponentError> {
        let named = || self.name().to_owned();
        let prepared = self
            .loaded
            .prepare(&self.grants)
            .map_err(|source| ComponentError::Load { name: named(), source })?;
        let grants_digest = self.grants.digest();
        let exposed = self.definitions.iter().filter(|known| self.terms.exposes(known.name.as_str()));
        let offer = |known: &Definition| {
            let own_name = known.name.as_str();
            let limits = self.terms.limits(own_name);
            self.sandbox.check_limits(&limits)?;
            let name = self
                .terms
                .offered_name(own_name)
                .map_err(|source| ComponentError::ToolName { name: named(), source })?;
            let tool = ComponentTool {
                own_name: own_name.to_owned(),
                definition: Definition { name, ..known.clone() },
                prepared: prepared.clone(),
                reaches_outside: self.grants.reaches_outside(),
                grants_digest,
                log: Arc::clone(&self.log),
            };
            Ok(Offer::new(tool, allow_line(self.name(), own_name))
                .with_permission(self.terms.permission(own_name))
                .with_limits(limits))
        };
        exposed.map(offer).collect()
    }
}

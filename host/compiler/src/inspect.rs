//! What a component is and could ever reach, read without running or compiling it.

use hotcell_core::ids::Digest;
use hotcell_core::tool::Definition;
use serde::Serialize;

use crate::definitions::{SECTION, from_sections};
use crate::error::LoadError;
use crate::layout::check_whole;
use crate::recognise::recognise;
use walk::{Walk, walk};

pub use bounds::{BOUNDS, Bound, Counted};
pub use ceilings::{Capability, Ceiling};
pub use imports::{ImportGroup, Standing};
pub use walk::{CoreShape, Producer};
pub(crate) use walk::{Found, find_sections};

mod bounds;
mod ceilings;
mod features;
mod imports;
mod nesting;
mod prescan;
mod tool;
mod walk;

/// Bytes of a component that is looked at; as many as [`CompileLimits`](crate::CompileLimits) allows by default.
pub const MAX_COMPONENT_BYTES: usize = 32 << 20;

/// Unknown imports that an error names.
const MAX_UNKNOWN_NAMED: usize = 20;

/// What is known of a component without running it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// Always `component`; other files are a [`LoadError`].
    pub kind: &'static str,
    /// Identifies the component.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
    /// The tools it says it has; none when nothing is embedded and it has to be asked.
    pub definitions: Option<Vec<Definition>>,
    /// The version of `hotcell:tool/tools` it exports; none for a plain component.
    pub tool_interface: Option<String>,
    /// What it does not export of that interface; with one of them it is no set of tools.
    pub missing_exports: Vec<String>,
    /// What it asks for, by package.
    pub imports: Vec<ImportGroup>,
    /// What it offers: interfaces with their versions, and functions.
    pub exports: Vec<String>,
    /// What it could do at most, whatever is granted.
    pub ceilings: Vec<Ceiling>,
    /// What it is made of.
    pub core: CoreShape,
    /// The tools that made it, as they say themselves.
    pub producers: Vec<Producer>,
    /// Imports that this version does not offer; with one of them it cannot be loaded.
    pub unknown_imports: Vec<String>,
}

impl Inspection {
    /// Whether the component can be loaded as far as can be told without compiling it.
    ///
    /// # Errors
    /// [`LoadError::UnsupportedImport`] names the imports that are missing, [`LoadError::NotATool`] the exports.
    pub fn check(&self) -> Result<(), LoadError> {
        refuse_unknown(&self.unknown_imports)?;
        if self.missing_exports.is_empty() {
            return Ok(());
        }
        Err(LoadError::NotATool { missing: self.missing_exports.clone() })
    }
}

/// Looks at a component: parses it and checks all but the bodies of its functions, which compiling checks.
///
/// Takes well under a second for the largest component allowed, whatever is in it.
///
/// # Errors
/// [`LoadError`] when the file is no component, is broken, or needs a feature that is switched off. Imports that are
/// unknown are no error here; see [`Inspection::check`].
pub fn inspect(component: &[u8]) -> Result<Inspection, LoadError> {
    recognise(component)?;
    if component.len() > MAX_COMPONENT_BYTES {
        return Err(LoadError::TooLarge { bytes: component.len() as u64, limit: MAX_COMPONENT_BYTES as u64 });
    }
    let walk = check(component, walk::Bodies::Skip)?;
    let imports = imports::group(&walk.imports);
    Ok(Inspection {
        kind: "component",
        digest: Digest::of(component),
        bytes: component.len() as u64,
        definitions: from_sections(&walk.sections)?,
        tool_interface: walk.exports.iter().find_map(|export| tool::version(export)).map(str::to_owned),
        missing_exports: walk.missing,
        ceilings: ceilings::of(&imports),
        unknown_imports: imports::unknown(&imports),
        imports,
        exports: walk.exports,
        core: walk.core,
        producers: walk.producers,
    })
}

/// Everything that is checked before the compiler sees a component, function bodies included. How large it may be is the
/// compiler's to say.
///
/// # Errors
/// As [`inspect`], and for bodies that are broken and imports that are unknown. A component that is no set of tools
/// can be compiled.
pub fn check_for_compile(component: &[u8]) -> Result<(), LoadError> {
    let walk = check(component, walk::Bodies::Validate)?;
    from_sections(&walk.sections)?;
    refuse_unknown(&imports::unknown(&imports::group(&walk.imports)))
}

fn check(component: &[u8], bodies: walk::Bodies) -> Result<Walk<'_>, LoadError> {
    recognise(component)?;
    check_whole(component)?;
    let walk = walk(component, SECTION, bodies)?;
    if walk.exports.is_empty() {
        return Err(LoadError::invalid(
            "it exports nothing, so there is nothing to call; it may be cut off",
            None,
        ));
    }
    Ok(walk)
}

fn refuse_unknown(unknown: &[String]) -> Result<(), LoadError> {
    let mut names: Vec<String> = unknown.iter().take(MAX_UNKNOWN_NAMED).cloned().collect();
    let more = unknown.len() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    if names.is_empty() { Ok(()) } else { Err(LoadError::UnsupportedImport { names }) }
}

#[cfg(test)]
mod tests;

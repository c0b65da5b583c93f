//! The interfaces a component may export, one file per version; the rest of the room sees only this.

use hotcell_core::call::ToolFault;
use hotcell_core::content::Block;
use wasmtime::Store;
use wasmtime::component::{Component, ComponentExportIndex, Instance};

use crate::error::SandboxError;
use crate::host::Host;

mod signature;
mod v0_1;

/// A definition as the guest wrote it; nothing in it has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawDefinition {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input_schema: String,
    pub(crate) output_schema: Option<String>,
    pub(crate) hints: [Option<bool>; 4],
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) examples: Vec<String>,
}

/// What a tool returned.
#[derive(Debug)]
pub(crate) struct RawOutput {
    pub(crate) content: Vec<RawBlock>,
    pub(crate) structured: Option<String>,
}

/// One piece of it; JSON is not parsed yet.
#[derive(Debug)]
pub(crate) enum RawBlock {
    Json(String),
    Other(Block),
}

/// What a tool says of its failure.
#[derive(Debug)]
pub(crate) struct RawFailure {
    pub(crate) fault: ToolFault,
    pub(crate) message: String,
    pub(crate) advice: Option<String>,
}

/// What goes into a call.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a str,
    pub(crate) call_id: &'a str,
    pub(crate) idempotency_key: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
}

/// Which interface a component exports, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Abi {
    /// `hotcell:tool/tools@0.1.0`.
    V0_1(Exports),
}

/// The two functions of a set of tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exports {
    pub(crate) definitions: ComponentExportIndex,
    pub(crate) call: ComponentExportIndex,
}

impl Abi {
    /// Finds the interface, newest version first.
    pub(crate) fn find(component: &Component) -> Result<Self, SandboxError> {
        let Some((_, interface)) = component.get_export(None, v0_1::INTERFACE) else {
            let reason = format!(
                "it exports no `{}`; build it with the world `hotcell:tool/tool`, as `hotcell tool new` sets up",
                v0_1::INTERFACE
            );
            return Err(SandboxError::NotATool { reason });
        };
        let find = |(name, expected): (&str, &str)| {
            let not_a_tool = |reason| SandboxError::NotATool { reason };
            let (item, index) = component
                .get_export(Some(&interface), name)
                .ok_or_else(|| not_a_tool(format!("`{}` has no function `{name}`", v0_1::INTERFACE)))?;
            match signature::signature(&item) {
                Some(found) if found == expected => Ok(index),
                found => Err(not_a_tool(format!(
                    "`{name}` of `{}` is not the function of that version: expected {expected}, found {}",
                    v0_1::INTERFACE,
                    found.as_deref().unwrap_or("no function"),
                ))),
            }
        };
        Ok(Self::V0_1(Exports { definitions: find(v0_1::DEFINITIONS)?, call: find(v0_1::CALL)? }))
    }

    pub(crate) async fn call(
        self,
        store: &mut Store<Host>,
        instance: &Instance,
        input: Input<'_>,
    ) -> wasmtime::Result<Result<RawOutput, RawFailure>> {
        match self {
            Self::V0_1(exports) => v0_1::call(exports, store, instance, input).await,
        }
    }

    pub(crate) async fn definitions(
        self,
        store: &mut Store<Host>,
        instance: &Instance,
    ) -> wasmtime::Result<Vec<RawDefinition>> {
        match self {
            Self::V0_1(exports) => v0_1::definitions(exports, store, instance).await,
        }
    }
}

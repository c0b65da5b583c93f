//! Whether a component is a set of tools: whether it exports the functions of `hotcell:tool/tools`.
//!
//! Only their presence is looked at; their types are compared by the sandbox, when the component is loaded.

use wasmparser::component_types::ComponentEntityType;
use wasmparser::types::Types;

/// The interface that makes a component a set of tools, without its version.
const INTERFACE: &str = "hotcell:tool/tools";
/// The version whose name is shown when there is none.
const VERSION: &str = "0.1.0";
/// Its functions.
const FUNCTIONS: [&str; 2] = ["definitions", "call"];

/// The version, when this is the tool interface in a version that is served here.
pub(super) fn version(export: &str) -> Option<&str> {
    let (interface, version) = export.split_once('@')?;
    (interface == INTERFACE && version.starts_with("0.1.")).then_some(version)
}

/// What of the interface is missing: all of it, or single functions. A function of the same name elsewhere is another.
pub(super) fn missing(types: &Types, exports: &[String]) -> Vec<String> {
    let Some(name) = exports.iter().find(|export| version(export).is_some()) else {
        return vec![format!("{INTERFACE}@{VERSION}")];
    };
    let Some(ComponentEntityType::Instance(instance)) =
        types.as_ref().component_item_for_export(name).map(|item| item.ty)
    else {
        return vec![name.clone()];
    };
    let Some(instance) = types.as_ref().get(instance) else { return vec![name.clone()] };
    let has = |function: &str| {
        instance.exports.get(function).is_some_and(|item| matches!(item.ty, ComponentEntityType::Func(_)))
    };
    FUNCTIONS.iter().filter(|function| !has(function)).map(|function| format!("{name}#{function}")).collect()
}

//! Which features of WebAssembly are accepted: what the engine would accept, and no more.

use hotcell_core::engine::UNTRUSTED;
use wasmparser::WasmFeatures;

/// The features of [`UNTRUSTED`]. As in the engine, that is version 3 of the standard and the component model, without
/// what the profile switches off.
pub(super) fn accepted() -> WasmFeatures {
    let off = UNTRUSTED
        .features_off
        .iter()
        .filter_map(|name| WasmFeatures::from_name(name))
        .fold(WasmFeatures::empty(), WasmFeatures::union);
    (WasmFeatures::WASM3 | WasmFeatures::COMPONENT_MODEL) - off
}

/// The name of a proposal as people know it: `GC_TYPES` is `gc-types`.
pub(super) fn name(feature: WasmFeatures) -> String {
    feature
        .iter_names()
        .next()
        .map_or_else(|| "an unknown feature".to_owned(), |(name, _)| name.to_lowercase().replace('_', "-"))
}

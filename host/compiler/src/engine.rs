//! The engine that compiles: the shared profile, with instances allocated on demand.

use std::num::NonZeroUsize;

use hotcell_core::artifact::{ARTIFACT_FORMAT, ArtifactHeader};
use hotcell_core::engine::{EngineProfile, UNTRUSTED, fingerprint};
use hotcell_core::ids::Digest;
use wasmtime::{
    Config, Engine, ModuleVersionStrategy, OptLevel, Strategy, WasmBacktraceDetails, WasmFeatures,
};

use crate::cpu;
use crate::error::CompileError;

/// The settings of [`UNTRUSTED`] for wasmtime; what no profile may change is set here.
pub(crate) fn engine_config(profile: &EngineProfile) -> Result<Config, CompileError> {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        .consume_fuel(true)
        .epoch_interruption(true)
        .signals_based_traps(true)
        .concurrency_support(false)
        .max_wasm_stack(profile.max_wasm_stack_bytes)
        .memory_reservation(profile.memory_reservation_bytes)
        .memory_guard_size(profile.memory_guard_bytes)
        .guard_before_linear_memory(profile.guard_before_memory)
        .memory_init_cow(profile.copy_on_write)
        .wasm_backtrace_max_frames(NonZeroUsize::new(profile.backtrace_frames))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .generate_address_map(profile.address_map)
        .native_unwind_info(profile.unwind_info)
        .debug_symbols(profile.debug_symbols);
    for name in profile.features_off {
        let flag = WasmFeatures::from_name(name).ok_or_else(|| {
            CompileError::internal(format!(
                "the engine has no feature flag `{name}`; the profile needs updating"
            ))
        })?;
        config.wasm_features(flag, false);
    }
    Ok(config)
}

/// An engine that compiles for [`UNTRUSTED`].
pub(crate) fn engine() -> Result<Engine, CompileError> {
    Engine::new(&engine_config(&UNTRUSTED)?)
        .map_err(|error| CompileError::internal(format!("the engine does not start: {error:#}")))
}

/// Which engine artifacts are for: [`ArtifactHeader::engine`].
pub(crate) fn engine_fingerprint(engine: &Engine) -> String {
    let version = format!("wasmtime-{}", ModuleVersionStrategy::WasmtimeVersion.as_str());
    fingerprint(&version, &engine.precompile_compatibility_hash())
}

/// The header of an artifact of this engine.
pub(crate) fn header(engine: &str, source: Digest) -> ArtifactHeader {
    ArtifactHeader {
        source,
        engine: engine.to_owned(),
        target: target(),
        cpu: cpu::features(),
        format: ARTIFACT_FORMAT,
    }
}

/// What this program was compiled for; artifacts are for the same.
pub(crate) fn target() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

#[cfg(test)]
mod tests;

//! The engine that runs: the shared profile, with instances from a pool.

use std::num::NonZeroUsize;

use hotcell_core::engine::{EngineProfile, UNTRUSTED, fingerprint};
use hotcell_core::limits::CallLimits;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, ModuleVersionStrategy, OptLevel,
    PoolingAllocationConfig, Strategy, WasmBacktraceDetails, WasmFeatures,
};

use crate::config::SandboxConfig;
use crate::error::SandboxError;

/// Stack of one guest, host functions included. Host functions have what the guest's own 512 KiB leave,
/// so that a guest at the end of its stack cannot make a host function overflow and abort the process.
const ASYNC_STACK_BYTES: usize = 2 << 20;

/// Bytes of a memory that stay mapped when a slot is given back; they are zeroed, not unmapped.
const KEEP_RESIDENT_BYTES: usize = 1 << 20;

/// The same for tables.
const TABLE_KEEP_RESIDENT_BYTES: usize = 64 << 10;

/// Slots that stay warm for the component that used them last.
const WARM_SLOTS: u32 = 16;

/// The most slots a pool may have: each costs about four kernel mappings of at most 65,530.
pub(crate) const MAX_SLOTS: u32 = 15_000;

/// An engine with a pool of `config.slots` slots.
pub(crate) fn pooling_engine(config: &SandboxConfig) -> Result<Engine, SandboxError> {
    check(config)?;
    let mut engine = settings(&UNTRUSTED)?;
    engine
        .async_stack_size(ASYNC_STACK_BYTES)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(config)));
    Engine::new(&engine).map_err(|error| SandboxError::Engine {
        slots: config.slots,
        memory_bytes: config.max_memory_bytes,
        source: error.into(),
    })
}

fn check(config: &SandboxConfig) -> Result<(), SandboxError> {
    if config.slots == 0 || config.slots > MAX_SLOTS {
        let reason = format!("slots must be between 1 and {MAX_SLOTS}, found {}", config.slots);
        return Err(SandboxError::Config(reason));
    }
    if config.max_memory_bytes == 0 || config.max_memory_bytes > 4 << 30 {
        let found = config.max_memory_bytes;
        return Err(SandboxError::Config(format!(
            "the largest memory limit must be between 1 byte and 4 GiB, found {found}"
        )));
    }
    Ok(())
}

fn pool(config: &SandboxConfig) -> PoolingAllocationConfig {
    // Slots are given out by admission, so the per-component counts only have to be large enough
    // for what the limits of a call allow.
    let per_call = CallLimits::default();
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(config.slots)
        .total_core_instances(config.slots.saturating_mul(per_call.instances))
        .total_memories(config.slots)
        .total_tables(config.slots)
        .total_stacks(config.slots)
        .max_core_instances_per_component(per_call.instances)
        .max_memories_per_component(per_call.memories)
        .max_tables_per_component(per_call.tables)
        .max_memories_per_module(per_call.memories)
        .max_tables_per_module(per_call.tables)
        .max_memory_size(usize::try_from(config.max_memory_bytes).unwrap_or(usize::MAX))
        .table_elements(usize::try_from(config.max_table_elements).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(TABLE_KEEP_RESIDENT_BYTES)
        .max_unused_warm_slots(WARM_SLOTS)
        .decommit_batch_size(1)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// The settings that must equal the compiler's. The two rooms do not know each other, so each
/// translates the shared profile; an artifact of one loads in the other only if both agree.
fn settings(profile: &EngineProfile) -> Result<Config, SandboxError> {
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
        let flag = WasmFeatures::from_name(name)
            .ok_or_else(|| SandboxError::Config(format!("the engine has no feature flag `{name}`")))?;
        config.wasm_features(flag, false);
    }
    Ok(config)
}

/// Which engine artifacts must be made for: the `engine` of their header.
pub(crate) fn engine_fingerprint(engine: &Engine) -> String {
    let version = format!("wasmtime-{}", ModuleVersionStrategy::WasmtimeVersion.as_str());
    fingerprint(&version, &engine.precompile_compatibility_hash())
}

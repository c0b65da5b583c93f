use wasmtime::component::{Component, Linker};
use wasmtime::{InstanceAllocationStrategy, PoolingAllocationConfig, Store, Trap, WasmBacktrace};

use super::*;

/// The engine of the room that runs guests: the same profile, instances from a pool.
fn pooling_engine() -> Engine {
    let mut config = engine_config(&UNTRUSTED).unwrap();
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(2)
        .total_core_instances(4)
        .total_memories(4)
        .total_tables(4)
        .total_stacks(2);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config).unwrap()
}

/// Calls one function without parameters, with plenty of fuel.
#[expect(unsafe_code, reason = "the test compiled the code itself")]
fn call(engine: &Engine, code: &[u8], function: &str) -> wasmtime::Result<()> {
    // SAFETY: the caller has just compiled these bytes.
    let component = unsafe { Component::deserialize(engine, code)? };
    let mut store = Store::new(engine, ());
    store.set_fuel(1 << 40)?;
    store.set_epoch_deadline(1_000);
    let instance = Linker::new(engine).instantiate(&mut store, &component)?;
    instance.get_typed_func::<(), ()>(&mut store, function)?.call(&mut store, ())
}

#[test]
fn an_artifact_loads_in_a_pooling_engine_of_the_same_profile() {
    let (compiling, running) = (engine().unwrap(), pooling_engine());
    assert_eq!(engine_fingerprint(&compiling), engine_fingerprint(&running));
    let component = wat::parse_str(
        r#"(component
            (core module $m (memory 1) (table 1 funcref) (func (export "run")))
            (core instance $i (instantiate $m))
            (func (export "run") (canon lift (core func $i "run"))))"#,
    )
    .unwrap();
    let code = compiling.precompile_component(&component).unwrap();
    call(&running, &code, "run").unwrap();
}

#[test]
fn the_fingerprint_changes_with_a_setting_that_code_depends_on() {
    let usual = engine_fingerprint(&engine().unwrap());
    assert!(usual.starts_with("wasmtime-48-"), "{usual}");
    let other = EngineProfile { memory_guard_bytes: 64 << 20, ..UNTRUSTED };
    let other = Engine::new(&engine_config(&other).unwrap()).unwrap();
    assert_ne!(usual, engine_fingerprint(&other));
    let more = EngineProfile { features_off: &["THREADS", "CM_ASYNC"], ..UNTRUSTED };
    let more = Engine::new(&engine_config(&more).unwrap()).unwrap();
    assert_ne!(usual, engine_fingerprint(&more));
    let wrong = EngineProfile { features_off: &["NO_SUCH_FEATURE"], ..UNTRUSTED };
    assert!(engine_config(&wrong).unwrap_err().to_string().contains("NO_SUCH_FEATURE"));
}

#[test]
fn trap_kinds_and_backtraces_need_no_address_map() {
    let (compiling, running) = (engine().unwrap(), pooling_engine());
    let component = wat::parse_str(
        r#"(component
            (core module $m
                (memory 1) (table 1 funcref) (type $t (func))
                (func $deep (call $deep))
                (func (export "unreachable") unreachable)
                (func (export "memory") (drop (i32.load (i32.const 100000))))
                (func (export "division") (drop (i32.div_s (i32.const 1) (i32.const 0))))
                (func (export "null") (call_indirect (type $t) (i32.const 0)))
                (func (export "deep") (call $deep)))
            (core instance $i (instantiate $m))
            (func (export "unreachable") (canon lift (core func $i "unreachable")))
            (func (export "memory") (canon lift (core func $i "memory")))
            (func (export "division") (canon lift (core func $i "division")))
            (func (export "null") (canon lift (core func $i "null")))
            (func (export "deep") (canon lift (core func $i "deep"))))"#,
    )
    .unwrap();
    let code = compiling.precompile_component(&component).unwrap();
    for (function, expected, frames) in [
        ("unreachable", Trap::UnreachableCodeReached, 1),
        ("memory", Trap::MemoryOutOfBounds, 1),
        ("division", Trap::IntegerDivisionByZero, 1),
        ("null", Trap::IndirectCallToNull, 1),
        ("deep", Trap::StackOverflow, UNTRUSTED.backtrace_frames),
    ] {
        let error = call(&running, &code, function).unwrap_err();
        assert_eq!(error.downcast_ref::<Trap>(), Some(&expected), "{function}");
        assert_eq!(error.downcast_ref::<WasmBacktrace>().unwrap().frames().len(), frames, "{function}");
    }
}

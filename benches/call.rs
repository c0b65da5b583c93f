//! What a call costs with every limit on, against the bare engine in the same run.
//!
//! The same component, the same export, 100 bytes in and out. `bare` is instantiate and call with a pool
//! and no limits at all; `in_place` is a call with all of them, awaited on a guest thread; `hop` is the
//! same from another thread. Rows are interleaved in rounds, so that noise of the machine hits all alike.

mod call_interface;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use call_interface::{Block, Context, Failure, Output};
use hotcell_benches::{Samples, micros, print};
use hotcell_core::services::HostServices;
use hotcell_sandbox::{Prepared, Sandbox, SandboxConfig};
use hotcell_tests::call::{Call, prepare, sandbox_with};
use hotcell_tests::services::Recorder;
use hotcell_tests::wat_tool::WatTool;
use serde_json::json;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};

const ROUNDS: usize = 15;
const CALLS: usize = 2_000;

/// Answers with its arguments.
const ECHO: &str = "(call $text (local.get 2) (local.get 3))";

fn main() -> Result<()> {
    let bytes = WatTool { call: ECHO, ..WatTool::default() }.build()?;
    let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(89));
    let bare = Arc::new(Bare::new(&bytes).map_err(plain)?);
    let sandbox = sandbox_with(SandboxConfig { slots: 64, ..SandboxConfig::default() });
    let product = prepare(&sandbox, &bytes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut bare_times, mut in_place, mut hop) =
        (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let (without, with) = runtime.block_on(round_in_place(&sandbox, &bare, &product, &arguments))?;
        bare_times.extend(without);
        in_place.extend(with);
        runtime.block_on(calls_with_hop(&product, &arguments, &mut hop));
    }
    let ratio = |samples: &Samples| micros(samples.percentile(50)) / micros(bare_times.percentile(50));
    print(&json!({
        "bench": "call",
        "argument_bytes": arguments.len(),
        "bare": bare_times.to_json(),
        "in_place": in_place.to_json(),
        "hop": hop.to_json(),
        "ratio_in_place": ratio(&in_place),
        "ratio_hop": ratio(&hop),
    }));
    Ok(())
}

/// Both kinds of calls on the same guest thread: allocator and processor are not equally fast for all threads.
async fn round_in_place(
    sandbox: &Sandbox,
    bare: &Arc<Bare>,
    product: &Prepared,
    arguments: &str,
) -> Result<(Vec<Duration>, Vec<Duration>)> {
    let request = Call::new(product, "t", arguments).request;
    let (bare, product) = (Arc::clone(bare), product.clone());
    let services: Arc<dyn HostServices> = Arc::new(Recorder::default());
    let times = sandbox.on_guest_thread(async move {
        let mut bare_times = Vec::with_capacity(CALLS);
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let begin = Instant::now();
            bare.call(&request.arguments)?;
            bare_times.push(begin.elapsed());
        }
        for _ in 0..CALLS {
            let request = request.clone();
            let begin = Instant::now();
            let report = product.call_here(request, Arc::clone(&services)).await;
            times.push(begin.elapsed());
            assert!(report.outcome.is_ok(), "{report:?}");
        }
        Ok((bare_times, times))
    });
    times.await?.map_err(plain)
}

async fn calls_with_hop(product: &Prepared, arguments: &str, times: &mut Samples) {
    let request = Call::new(product, "t", arguments).request;
    let services: Arc<dyn HostServices> = Arc::new(Recorder::default());
    for _ in 0..CALLS {
        let request = request.clone();
        let begin = Instant::now();
        let report = product.call(request, Arc::clone(&services)).await;
        times.push(begin.elapsed());
        assert!(report.outcome.is_ok(), "{report:?}");
    }
}

/// The engine's error for whoever does not know the engine.
#[expect(clippy::needless_pass_by_value, reason = "the signature `map_err` asks for")]
fn plain(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:?}")
}

/// The engine alone: a pool that keeps its pages, no fuel, no epochs, no limiter, no WASI.
struct Bare {
    engine: Engine,
    instance: InstancePre<()>,
    export: ComponentExportIndex,
}

impl Bare {
    fn new(bytes: &[u8]) -> wasmtime::Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(64)
            .total_component_instances(64)
            .total_memories(64)
            .total_tables(64)
            .total_stacks(64)
            .max_memory_size(64 << 20)
            .linear_memory_keep_resident(1 << 20)
            .table_keep_resident(64 << 10)
            .max_unused_warm_slots(16)
            .decommit_batch_size(1)
            .pagemap_scan(Enabled::Auto);
        let mut config = Config::new();
        config.concurrency_support(false).allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let component = Component::from_binary(&engine, bytes)?;
        let (_, tools) = component.get_export(None, "hotcell:tool/tools@0.1.0").expect("a set of tools");
        let (_, export) = component.get_export(Some(&tools), "call").expect("a tool can be called");
        let instance = Linker::new(&engine).instantiate_pre(&component)?;
        Ok(Self { engine, instance, export })
    }

    fn call(&self, arguments: &str) -> wasmtime::Result<()> {
        let mut store = Store::new(&self.engine, ());
        let instance = self.instance.instantiate(&mut store)?;
        let call = instance.get_typed_func::<(&str, &str, Context<'_>), (Result<Output, Failure>,)>(
            &mut store,
            self.export,
        )?;
        let ctx = Context { call_id: "test", idempotency_key: None, session: None, attributes: &[] };
        let (result,) = call.call(&mut store, ("t", arguments, ctx))?;
        let output = result.map_err(|failure| wasmtime::format_err!("the echo failed: {failure:?}"))?;
        wasmtime::ensure!(matches!(output.content.first(), Some(Block::Text(text)) if text == arguments));
        Ok(())
    }
}

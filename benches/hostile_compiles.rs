//! What small calls notice of 50 hostile components that are loaded beside them, and what that costs in memory.
//!
//! Calls go through the door, 40 per second, first alone and then while the components are pre-scanned, wait and compile,
//! one at a time on two processors. Each takes a compile process seconds and much memory. At the end what still waits is
//! given up, and nothing may be left.

mod processes;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hotcell::{
    Asked, Cache, CallId, Caller, Compile, Door, DoorRequest, Limits, QueueGauges, Sandbox, SandboxConfig,
    TokioClock, ToolSet,
};
use hotcell_benches::{Samples, micros, print};
use hotcell_tests::health::resident_bytes;
use hotcell_tests::{generated, guest};
use processes::Workers;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

const COMPONENTS: u32 = 50;
const QUIET: Duration = Duration::from_secs(10);
const ATTACK: Duration = Duration::from_secs(40);
const PERIOD: Duration = Duration::from_millis(25);

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let files = write_components(folder.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let figures = runtime.block_on(run(folder.path(), &files))?;
    print(&figures);
    Ok(())
}

fn write_components(folder: &Path) -> Result<Vec<PathBuf>> {
    let write = |number| {
        let path = folder.join(format!("hostile-{number}.wasm"));
        std::fs::write(&path, generated::hostile(number)?)?;
        Ok(path)
    };
    (0..COMPONENTS).map(write).collect()
}

async fn run(folder: &Path, files: &[PathBuf]) -> Result<Value> {
    let cache = folder.join("cache");
    let compile = Compile::worker_at(guest::binary().canonicalize()?, Vec::new());
    let config = SandboxConfig { cache: Cache::At(cache.clone()), slots: 64, ..SandboxConfig::new(compile) };
    let workers = config.compile_queue.workers;
    let sandbox = Sandbox::new(config)?;
    let small = folder.join("small.wasm");
    std::fs::write(&small, generated::small(0)?)?;
    let calls = Calls::new(&sandbox, &small).await?;

    calls.measure(QUIET, || ()).await?;
    let quiet = calls.measure(QUIET, || ()).await?;
    let before = resident_bytes();
    let mut loads = JoinSet::new();
    for file in files {
        let (sandbox, file) = (sandbox.clone(), file.clone());
        loads.spawn(async move { sandbox.load(&file).await.map(|_component| ()) });
    }
    let mut peak = before;
    let mut seen = Workers::default();
    let attack = calls.measure(ATTACK, || {
        peak = peak.max(resident_bytes());
        seen.look();
    });
    let attack = attack.await?;
    let gauges = sandbox.compile_gauges();
    let ended = ends(&mut loads).await?;
    wait_until_idle(&sandbox).await?;
    seen.check_gone()?;
    let left = names_of_unfinished(&cache)?;
    ensure!(left.is_empty(), "left in the cache: {left:?}");
    let ratio = |percent| micros(attack.percentile(percent)) / micros(quiet.percentile(percent));
    Ok(json!({
        "bench": "hostile_compiles",
        "goals": { "p99_ratio": 3, "host_growth_mib": 32 },
        "components": COMPONENTS,
        "compile_workers": workers,
        "alone": quiet.to_json(),
        "beside_compiles": attack.to_json(),
        "p50_ratio": ratio(50),
        "p99_ratio": ratio(99),
        "host_growth_mib": mib(peak - before),
        "worker_peak_mib": mib(seen.peak_bytes()),
        "workers_at_once": seen.at_once(),
        "workers_seen": seen.count(),
        "waiting_at_the_end": gauges.waiting,
        "ended": ended,
        "left": "nothing",
    }))
}

/// How the loads ended that did; the others are given up.
async fn ends(loads: &mut JoinSet<Result<(), hotcell::ComponentError>>) -> Result<Value> {
    let mut counts = Map::new();
    let mut count = |word: &str| {
        let known = counts.get(word).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(word.to_owned(), json!(known + 1));
    };
    while let Some(ended) = loads.try_join_next() {
        count(ended?.map_or_else(|error| error.code(), |()| "ok"));
    }
    (0..loads.len()).for_each(|_| count("given_up"));
    loads.shutdown().await;
    Ok(Value::Object(counts))
}

async fn wait_until_idle(sandbox: &Sandbox) -> Result<()> {
    let begin = Instant::now();
    while sandbox.compile_gauges() != QueueGauges::default() {
        ensure!(begin.elapsed() < Duration::from_secs(5), "{:?}", sandbox.compile_gauges());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

fn names_of_unfinished(cache: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(cache.join("entries")).context("the cache has entries")?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names = names.collect::<Result<Vec<String>>>()?;
    Ok(names.into_iter().filter(|name| name.starts_with("new-")).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// A small tool behind the door.
struct Calls {
    door: Door,
}

impl Calls {
    async fn new(sandbox: &Sandbox, file: &Path) -> Result<Self> {
        let tools = ToolSet::new(sandbox.load(file).await?.offers()?)?;
        Ok(Self { door: Door::new(Arc::new(tools), Arc::new(Limits::default()), Arc::new(TokioClock)) })
    }

    /// Calls at a steady pace; `look` is called between calls.
    async fn measure(&self, time: Duration, mut look: impl FnMut()) -> Result<Samples> {
        let begin = Instant::now();
        let mut next = tokio::time::interval(PERIOD);
        next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut samples = Samples::default();
        while begin.elapsed() < time {
            next.tick().await;
            let request = DoorRequest::new(Caller::local(), CallId::parse("bench")?, "t", "{}".to_owned());
            let call = Instant::now();
            let answer = self.door.call(&request, Asked::Operator).await?;
            samples.push(call.elapsed());
            ensure!(answer.report.outcome.is_ok(), "{:?}", answer.report);
            look();
        }
        Ok(samples)
    }
}

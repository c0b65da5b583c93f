//! What it costs to load a component that was compiled before, against compiling it: a large one, written by a program
//! as real tools are, and a small one, an example.
//!
//! `warm_load` is `Sandbox::load` of a file whose artifact is in the cache: reading and digesting the component,
//! reading the artifact and checking its keyed hash, and making it a component of the sandbox. Below it the same parts
//! one by one. Files are in the page cache of the system.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hotcell::{Cache, Compile, Digest, Sandbox, SandboxConfig};
use hotcell_benches::{Samples, micros, print};
use hotcell_compiler::{ArtifactCache, CompileLimits, Compiler, read_definitions};
use hotcell_tests::{generated, guest};
use serde_json::{Value, json};

const LARGE_BYTES: usize = 12_000_000;
const ROUNDS: usize = 25;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let large = folder.path().join("large.wasm");
    std::fs::write(&large, generated::realistic(LARGE_BYTES)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rows = runtime.block_on(async {
        anyhow::Ok(json!({
            "large": row(folder.path(), &large).await?,
            "small": row(folder.path(), &guest::path("text-stats")).await?,
        }))
    })?;
    print(&json!({
        "bench": "load",
        "goals": { "large_warm_ms": 60, "large_ratio": 100, "small_warm_ms": 2 },
        "rows": rows,
    }));
    Ok(())
}

fn sandbox(cache: PathBuf) -> Result<Sandbox> {
    let compile = Compile::worker_at(guest::binary().canonicalize()?, Vec::new());
    // A busy machine must not end the bench.
    let compile_limits = CompileLimits { wall_time: Duration::from_secs(600), ..CompileLimits::default() };
    Ok(Sandbox::new(SandboxConfig {
        cache: Cache::At(cache),
        compile_limits,
        slots: 4,
        ..SandboxConfig::new(compile)
    })?)
}

async fn row(folder: &Path, component: &Path) -> Result<Value> {
    let cache = folder.join(format!("cache of {}", component.file_stem().context("a name")?.display()));
    let begin = Instant::now();
    let first = sandbox(cache.clone())?;
    first.precompile(component).await?;
    let compile = begin.elapsed();
    drop(first);

    let sandbox = sandbox(cache.clone())?;
    let mut warm = Samples::default();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let loaded = sandbox.load(component).await?;
        warm.push(begin.elapsed());
        ensure!(loaded.warnings().is_empty(), "{:?}", loaded.warnings());
    }
    ensure!(sandbox.cache_state().counts.hits == ROUNDS as u64, "{:?}", sandbox.cache_state());
    let ratio = micros(compile) / micros(warm.percentile(50));
    Ok(json!({
        "component_bytes": std::fs::metadata(component)?.len(),
        "artifact_bytes": artifact(&cache)?.metadata()?.len(),
        "compile_ms": compile.as_millis(),
        "warm_load": warm.to_json(),
        "compile_to_warm_load": ratio,
        "parts": parts(&cache, component)?,
    }))
}

/// The only entry of a cache.
fn artifact(cache: &Path) -> Result<std::fs::File> {
    let mut entries = std::fs::read_dir(cache.join("entries"))?;
    let entry = entries.next().context("the cache has an entry")??;
    Ok(std::fs::File::open(entry.path())?)
}

/// The parts of a warm load, one by one.
fn parts(cache: &Path, component: &Path) -> Result<Value> {
    let compiler = Compiler::new(hotcell_compiler::Compile::InProcess, CompileLimits::default());
    let artifacts = ArtifactCache::open(cache);
    let guests = hotcell_sandbox::Sandbox::new(hotcell_sandbox::SandboxConfig {
        slots: 4,
        ..hotcell_sandbox::SandboxConfig::default()
    })?;
    let mut samples: [(&str, Samples); 6] = [
        "read_component",
        "digest_component",
        "find_definitions",
        "read_artifact",
        "read_artifact_and_check_its_hash",
        "deserialize",
    ]
    .map(|name| (name, Samples::default()));
    for _ in 0..ROUNDS {
        let (read, bytes) = timed(|| std::fs::read(component))?;
        let (digest, header) = timed(|| compiler.header(Digest::of(&bytes)))?;
        let (definitions, _) = timed(|| read_definitions(&bytes))?;
        let (read_artifact, _) = timed(|| {
            let mut code = Vec::new();
            std::io::Read::read_to_end(&mut artifact(cache)?, &mut code)?;
            anyhow::Ok(code)
        })?;
        let (get, found) = timed(|| artifacts.get(&header).found().context("the artifact is there"))?;
        let (deserialize, _) = timed(|| guests.load(&found))?;
        let times = [read, digest, definitions, read_artifact, get, deserialize];
        samples.iter_mut().zip(times).for_each(|((_, samples), time)| samples.push(time));
    }
    let rows = samples.into_iter().map(|(name, samples)| (name.to_owned(), samples.to_json()));
    Ok(Value::Object(rows.collect()))
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(Duration, T), E> {
    let begin = Instant::now();
    let result = work()?;
    Ok((begin.elapsed(), result))
}

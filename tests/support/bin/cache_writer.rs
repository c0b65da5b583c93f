//! A process that writes into a cache and does not get far: what tests of the cache start, stop and kill.
//!
//! ```text
//! cache-writer kill FOLDER STEP   kills itself with SIGKILL at this step of opening the cache and keeping an artifact
//! cache-writer many FOLDER TIMES  keeps and looks up several artifacts so often, in a cache with room for two
//! cache-writer limited FOLDER     keeps an artifact although the process may only write small files
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use hotcell_compiler::cache::WriteStep;
use hotcell_compiler::{ArtifactCache, CacheLimits, CacheOptions, Lookup};
use hotcell_core::artifact::Artifact;
use hotcell_tests::call::compile;
use hotcell_tests::generated::small;
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["kill", folder, step] => kill(Path::new(folder), step.parse()?),
        ["many", folder, times] => many(Path::new(folder), times.parse()?),
        ["limited", folder] => limited(Path::new(folder)),
        other => bail!("expected `kill`, `many` or `limited`, found {other:?}"),
    }
}

fn kill(folder: &Path, last: usize) -> Result<()> {
    let artifact = compile(&small(0)?);
    let done = AtomicUsize::new(0);
    let steps = |_step: WriteStep| {
        if done.fetch_add(1, Ordering::Relaxed) == last {
            kill_process(getpid(), Signal::KILL).expect("a process can kill itself");
        }
    };
    let cache = ArtifactCache::open_watched(folder, CacheOptions::default(), &steps);
    cache.put_watched(&artifact, &steps)?;
    Ok(())
}

fn many(folder: &Path, times: usize) -> Result<()> {
    let artifacts: Vec<Artifact> =
        (0..4).map(|number| Ok(compile(&small(number)?))).collect::<Result<_>>()?;
    let largest = artifacts.iter().map(|artifact| artifact.code().bytes()).max().context("there are some")?;
    let limits = CacheLimits { bytes: largest * 5 / 2, entries: 2 };
    let cache = ArtifactCache::open_with(folder, CacheOptions { limits, ..CacheOptions::default() });
    ensure!(cache.unavailable().is_none(), "{:?}", cache.unavailable());
    for artifact in artifacts.iter().cycle().take(times) {
        match cache.get(artifact.header()) {
            Lookup::Found(found) => ensure!(found.code().read()? == artifact.code().read()?),
            Lookup::Missing => cache.put(artifact)?,
            Lookup::Rejected => {
                bail!("an entry that another process was writing was taken for a foreign one")
            }
        }
    }
    Ok(())
}

fn limited(folder: &Path) -> Result<()> {
    let artifact = compile(&small(0)?);
    let cache = ArtifactCache::open(folder);
    setrlimit(Resource::Fsize, Rlimit { current: Some(4_096), maximum: Some(4_096) })?;
    let error = cache.put(&artifact).expect_err("the artifact has more than 4 KiB");
    ensure!(error.to_string().contains("ulimit -f"), "{error}");
    Ok(())
}

//! The compiling process: limits itself, compiles one component, answers, and ends.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::exit;

use hotcell_core::ids::Digest;
use rustix::fs::OFlags;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::compile::compile_here;
use crate::engine::{engine, engine_fingerprint};
use crate::error::{CompileError, LoadError};
use crate::protocol::{Bounds, Order, Reply};

/// Files the process may have open at once: its three standard streams, the artifact and a few for the system.
const MAX_OPEN_FILES: u64 = 32;

/// Makes this process a compile worker when it was started as one; then it never returns.
///
/// Must be the first line of the `main` of any program named in
/// [`Compile::Worker`](crate::Compile::Worker), before threads, runtimes or arguments. In every other process it looks
/// at the arguments and returns.
pub fn worker_main() {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(order) = Order::find(&arguments) {
        finish(&order.map_or_else(|reason| Reply::Failed { reason }, |order| run(&order)));
    }
}

fn run(order: &Order) -> Reply {
    if let Err(error) = limit_self(&order.bounds) {
        return Reply::Failed { reason: format!("the limits cannot be set: {error}") };
    }
    match compile(order) {
        Ok(reply) => reply,
        Err(CompileError::Component(reason)) => Reply::Refused { reason },
        Err(CompileError::Internal { reason }) => Reply::Failed { reason },
        Err(CompileError::Limit { reason }) => Reply::Limited { reason },
        // The process itself never says the others.
        Err(error) => Reply::Failed { reason: error.to_string() },
    }
}

/// Sets the limits that no component can make the compiler exceed. They cannot be raised again.
fn limit_self(bounds: &Bounds) -> io::Result<()> {
    // A parent that is killed cannot kill its workers.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let limits = [
        (Resource::Core, 0, 0),
        (Resource::Fsize, bounds.artifact_bytes, bounds.artifact_bytes),
        (Resource::Nofile, MAX_OPEN_FILES, MAX_OPEN_FILES),
        // The first limit sends a signal that says what happened, the second kills.
        (Resource::Cpu, bounds.cpu_seconds, bounds.cpu_seconds.saturating_add(1)),
        (Resource::As, bounds.address_space_bytes, bounds.address_space_bytes),
    ];
    for (resource, current, maximum) in limits {
        setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) })?;
    }
    Ok(())
}

fn compile(order: &Order) -> Result<Reply, CompileError> {
    let component = read_component(order.bounds.component_bytes)?;
    let engine = engine()?;
    let code = compile_here(&engine, &component)?;
    drop(component);
    let bytes = code.len() as u64;
    if bytes > order.bounds.artifact_bytes {
        return Err(CompileError::Limit { reason: format!("the artifact would have {bytes} bytes") });
    }
    open_artifact(order)
        .and_then(|mut file| file.write_all(&code))
        .map_err(|error| CompileError::internal(format!("the artifact cannot be written: {error}")))?;
    Ok(Reply::Done { bytes, digest: Digest::of(&code), engine: engine_fingerprint(&engine) })
}

fn read_component(limit: u64) -> Result<Vec<u8>, CompileError> {
    let mut component = Vec::new();
    io::stdin()
        .lock()
        .take(limit.saturating_add(1))
        .read_to_end(&mut component)
        .map_err(|error| CompileError::internal(format!("the component cannot be read: {error}")))?;
    let bytes = component.len() as u64;
    if bytes > limit {
        return Err(LoadError::TooLarge { bytes, limit }.into());
    }
    Ok(component)
}

fn open_artifact(order: &Order) -> io::Result<File> {
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
    OpenOptions::new().write(true).custom_flags(no_follow).open(&order.artifact)
}

#[expect(clippy::exit, reason = "a compile worker has no main to return to")]
fn finish(reply: &Reply) -> ! {
    let written = serde_json::to_vec(reply)
        .map_err(io::Error::other)
        .and_then(|reply| io::stdout().lock().write_all(&reply));
    exit(if written.is_ok() { 0 } else { 1 })
}

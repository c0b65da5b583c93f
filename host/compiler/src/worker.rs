//! The compiling process: walls itself in, compiles one component, answers, and ends.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::exit;

use hotcell_core::ids::Digest;
use hotcell_core::policy::Isolation;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::compile::compile_here;
use crate::engine::{engine, engine_fingerprint};
use crate::error::{CompileError, LoadError};
use crate::protocol::{Answer, Order, Reply};
use crate::walls::{Rising, Walls};

/// Makes this process a compile worker when it was started as one; then it never returns.
///
/// Must be the first line of the `main` of any program named in
/// [`Compile::Worker`](crate::Compile::Worker), before threads, runtimes or arguments: the walls are raised around the
/// thread that calls this and those it makes later. In every other process it looks at the arguments and returns.
pub fn worker_main() {
    serve(nothing_before_the_filter, |order, _walls, file| {
        let result = compile(order, file);
        result.unwrap_or_else(|error| match error {
            CompileError::Component(reason) => Reply::Refused { reason },
            CompileError::Internal { reason } => Reply::Failed { reason },
            CompileError::Limit { reason } => Reply::Limited { reason },
            // The process itself never says the others.
            error => Reply::Failed { reason: error.to_string() },
        })
    });
}

/// Like [`worker_main`], for programs that test the walls: where a worker compiles, these run, and what they return
/// becomes the error of the compile. The first runs when all walls stand but the filter of system calls, which
/// is in front of the others; when it returns nothing, the second runs behind all of them.
#[doc(hidden)]
pub fn worker_main_for_tests(
    before_the_filter: impl FnOnce(&mut File) -> Option<String>,
    behind_all_walls: impl FnOnce(&Walls, &mut File) -> String,
) {
    let failed = |reason| Reply::Failed { reason };
    serve(
        |file| before_the_filter(file).map(failed),
        |_order, walls, file| failed(behind_all_walls(walls, file)),
    );
}

fn nothing_before_the_filter(_file: &mut File) -> Option<Reply> {
    None
}

fn serve(
    before_the_filter: impl FnOnce(&mut File) -> Option<Reply>,
    behind_all_walls: impl FnOnce(&Order, &Walls, &mut File) -> Reply,
) {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let Some(order) = Order::find(&arguments) else { return };
    let answer = match order {
        Ok(order) => wall_in(&order, before_the_filter, behind_all_walls),
        Err(reason) => Answer { walls: None, reply: Reply::Failed { reason } },
    };
    finish(&answer);
}

/// Raises the walls, and works behind them if they suffice.
fn wall_in(
    order: &Order,
    before_the_filter: impl FnOnce(&mut File) -> Option<Reply>,
    behind_all_walls: impl FnOnce(&Order, &Walls, &mut File) -> Reply,
) -> Answer {
    let rising = Rising::begin(&order.bounds);
    if !parent_listens() {
        end(1);
    }
    let mut file = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(owned) => File::from(owned),
        Err(error) => {
            let reason = format!("the component cannot be had: {error}");
            return Answer { walls: None, reply: Reply::Failed { reason } };
        }
    };
    if let Some(reply) = before_the_filter(&mut file) {
        return Answer { walls: None, reply };
    }
    let walls = rising.finish();
    if order.isolation == Isolation::Required && !walls.complete() {
        return Answer { walls: Some(walls), reply: Reply::Unwalled };
    }
    let reply = behind_all_walls(order, &walls, &mut file);
    Answer { walls: Some(walls), reply }
}

/// Whether somebody still reads the answer. A parent that ended before this process asked to be killed with it left
/// nobody who does.
fn parent_listens() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::OUT)];
    let at_once = Timespec::default();
    match poll(&mut fds, Some(&at_once)) {
        Ok(_) => !fds.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::NVAL)),
        // Then writing the answer tells.
        Err(_) => true,
    }
}

fn compile(order: &Order, file: &mut File) -> Result<Reply, CompileError> {
    let engine = engine()?;
    let component = read_component(file, order.bounds.component_bytes)?;
    let code = compile_here(&engine, &component)?;
    drop(component);
    let bytes = code.len() as u64;
    if bytes > order.bounds.artifact_bytes {
        return Err(CompileError::Limit { reason: format!("the artifact would have {bytes} bytes") });
    }
    replace_content(file, &code)
        .map_err(|error| CompileError::internal(format!("the artifact cannot be written: {error}")))?;
    Ok(Reply::Done { bytes, digest: Digest::of(&code), engine: engine_fingerprint(&engine) })
}

fn read_component(file: &mut File, limit: u64) -> Result<Vec<u8>, CompileError> {
    let mut component = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut component)
        .map_err(|error| CompileError::internal(format!("the component cannot be read: {error}")))?;
    let bytes = component.len() as u64;
    if bytes > limit {
        return Err(LoadError::TooLarge { bytes, limit }.into());
    }
    Ok(component)
}

/// The artifact takes the place of the component.
fn replace_content(file: &mut File, code: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(code)
}

fn finish(answer: &Answer) -> ! {
    let written = serde_json::to_vec(answer)
        .map_err(io::Error::other)
        .and_then(|answer| io::stdout().lock().write_all(&answer));
    end(if written.is_ok() { 0 } else { 1 })
}

#[expect(clippy::exit, reason = "a compile worker has no main to return to")]
fn end(code: i32) -> ! {
    exit(code)
}

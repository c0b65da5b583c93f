//! The thread that compiles what stands in the line.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_core::ids::Digest;

use super::line::Order;
use super::{Compiled, Shared};
use crate::cache::Lookup;
use crate::error::CompileError;

/// Starts a thread with this order; it goes on with what waits.
pub(super) fn start(shared: &Arc<Shared>, order: Order) -> Result<(), CompileError> {
    let number = order.job;
    let of_thread = Arc::clone(shared);
    let started =
        std::thread::Builder::new().name("hotcell-compile".into()).spawn(move || work(&of_thread, order));
    match started {
        // Nobody waits for the thread: it ends with the line, and dropping the queue waits for that.
        Ok(_detached) => Ok(()),
        Err(error) => {
            let error = CompileError::internal(format!("no thread for the compile: {error}"));
            // Nothing waits when a thread is started, so there is no next order.
            let mut next = shared.with_line(|line| line.finish(number, Err(error.clone())));
            while let Some(order) = next {
                next = shared.with_line(|line| line.finish(order.job, Err(error.clone())));
            }
            Err(error)
        }
    }
}

fn work(shared: &Shared, first: Order) {
    let mut order = Some(first);
    while let Some(Order { job, digest, source, cancel }) = order {
        // A panic must not leave those who wait without an answer.
        let compile = || -> Result<Compiled, CompileError> {
            if cancel.is_cancelled() {
                return Err(CompileError::Cancelled);
            }
            if let Some(known) = known_meanwhile(shared, digest)? {
                return Ok(known);
            }
            let component = source()?;
            let component = AsRef::<[u8]>::as_ref(&*component);
            if Digest::of(component) != digest {
                return Err(CompileError::internal("the component changed while it waited; load it again"));
            }
            let began = Instant::now();
            let artifact = shared.compiler.compile_unless(component, &cancel)?;
            let took = began.elapsed();
            // That there is no cache at all is known to whoever opened it.
            let usable = shared.cache.unavailable().is_none();
            let not_kept = if usable { shared.cache.put(&artifact).err() } else { None };
            Ok(Compiled { artifact, took, not_kept })
        };
        let result = catch_unwind(AssertUnwindSafe(compile))
            .unwrap_or_else(|_panic| Err(CompileError::internal("the thread that compiles panicked")));
        order = shared.with_line(|line| line.finish(job, result));
    }
    shared.idle.notify_all();
}

/// The artifact, when another load or another process made it since somebody looked.
fn known_meanwhile(shared: &Shared, digest: Digest) -> Result<Option<Compiled>, CompileError> {
    let header = shared.compiler.header(digest)?;
    Ok(match shared.cache.get_again(&header) {
        Lookup::Found(artifact) => Some(Compiled { artifact, took: Duration::ZERO, not_kept: None }),
        Lookup::Missing | Lookup::Rejected => None,
    })
}

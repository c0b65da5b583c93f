//! Runs for code that is not async.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};

use super::AgentError;

/// The runtime of runs that block: made for the first one and kept, because connections of the model
/// belong to the runtime they were opened on.
#[derive(Default)]
pub(super) struct BlockingRuntime(Mutex<Option<Runtime>>);

impl BlockingRuntime {
    /// Waits on this thread. One thread at a time waits; others stand in line.
    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, AgentError> {
        if Handle::try_current().is_ok() {
            return Err(AgentError::Blocking);
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = match kept.take() {
            Some(runtime) => runtime,
            None => Builder::new_current_thread().enable_all().build().map_err(AgentError::Runtime)?,
        };
        Ok(kept.insert(runtime).block_on(work))
    }
}

impl fmt::Debug for BlockingRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockingRuntime")
    }
}

/// An agent may be dropped by async code, where waiting for a runtime to end would panic.
impl Drop for BlockingRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

//! What an operator chooses for a sandbox.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use hotcell_core::ids::CallId;

/// How a sandbox is made.
///
/// The defaults are closed and small: two guest threads, 256 calls at once, 64 MiB per call.
#[derive(Clone)]
pub struct SandboxConfig {
    /// Threads that run guests; as many guests compute at the same time.
    pub guest_workers: NonZeroUsize,
    /// Slots of the pool: memories, tables and stacks. A call takes as many as its component needs,
    /// at least one; further calls wait for admission. At most 15,000, because each slot
    /// costs mappings of the kernel.
    pub slots: u32,
    /// The largest memory limit a call may have, in bytes; the pool is sized for it.
    pub max_memory_bytes: u64,
    /// The largest table limit a call may have, in elements.
    pub max_table_elements: u32,
    /// Told of every call that was stopped, and how late.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            guest_workers: NonZeroUsize::MIN.saturating_add(1),
            slots: 256,
            max_memory_bytes: 64 << 20,
            max_table_elements: 20_000,
            observer: None,
        }
    }
}

impl std::fmt::Debug for SandboxConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxConfig")
            .field("guest_workers", &self.guest_workers)
            .field("slots", &self.slots)
            .field("max_memory_bytes", &self.max_memory_bytes)
            .field("max_table_elements", &self.max_table_elements)
            .finish_non_exhaustive()
    }
}

/// Watches how well deadlines are kept. Called on a guest thread: return at once.
pub trait Observer: Send + Sync {
    /// A stopped guest is gone.
    fn guest_gone(&self, gone: &GuestGone<'_>);
}

/// A guest that was stopped and is gone.
#[derive(Debug)]
pub struct GuestGone<'a> {
    /// The call.
    pub call: &'a CallId,
    /// How long after the deadline, or zero when it was stopped before.
    pub late: Duration,
    /// Whether it had run at all.
    pub has_run: bool,
}

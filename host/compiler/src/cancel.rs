//! How a compile is told that nobody waits for it any more.

use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by who compiles and who may give up.
#[derive(Debug, Default)]
pub struct Cancel {
    cancelled: AtomicBool,
}

impl Cancel {
    /// Tells it. A compile in a process of its own is killed within some 20 ms; one in this process goes on.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// Whether it was told.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }
}

//! Progress of running calls: the newest of each call, and never a queue.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hotcell_core::services::Progress;
use hotcell_core::tool::ProgressSink;
use tokio::sync::Notify;

/// Where the calls of one batch leave their progress.
#[derive(Debug, Default)]
pub(super) struct ProgressBoard {
    newest: Mutex<BTreeMap<u32, Progress>>,
    changed: Notify,
}

impl ProgressBoard {
    /// The place of one call.
    pub(super) fn place(self: &Arc<Self>, n: u32) -> Arc<dyn ProgressSink> {
        Arc::new(Place { board: Arc::clone(self), n })
    }

    /// Ends when something is there to take.
    pub(super) async fn changed(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.newest().is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Takes what is there, by the number of the call.
    pub(super) fn take(&self) -> BTreeMap<u32, Progress> {
        std::mem::take(&mut *self.newest())
    }

    fn newest(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Progress>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Place {
    board: Arc<ProgressBoard>,
    n: u32,
}

impl ProgressSink for Place {
    fn progress(&self, progress: Progress) {
        self.board.newest().insert(self.n, progress);
        self.board.changed.notify_one();
    }
}

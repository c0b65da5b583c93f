//! Results that are too large for a model to read whole, kept where only their run can read them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use thiserror::Error;

pub use crate::ids::ResultHandle;

/// Says why a result cannot be kept or read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ResultStoreError(pub String);

/// A place for the results of one run or one conversation; nobody else can read them.
///
/// A handle means something to the store that gave it out, and to no other.
pub trait ResultStore: Send + Sync {
    /// Keeps a text and gives the handle to read it by; it says nothing about the text.
    fn put(&self, text: Arc<str>) -> BoxFuture<'_, Result<ResultHandle, ResultStoreError>>;

    /// The text behind a handle; `None` when this store gave out no such handle.
    fn read(&self, handle: ResultHandle) -> BoxFuture<'_, Result<Option<Arc<str>>, ResultStoreError>>;
}

/// A store as one run may use it: how much it may keep, and how much of a result the model reads at a time.
#[derive(Clone)]
pub struct KeptResults {
    store: Arc<dyn ResultStore>,
    max_chars: usize,
    bytes_left: Arc<AtomicU64>,
}

impl fmt::Debug for KeptResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptResults")
            .field("max_chars", &self.max_chars)
            .field("bytes_left", &self.bytes_left)
            .finish_non_exhaustive()
    }
}

impl KeptResults {
    /// A store that keeps at most `max_bytes` for this run, whose model reads `max_chars` characters at a time.
    #[must_use]
    pub fn new(store: Arc<dyn ResultStore>, max_chars: usize, max_bytes: u64) -> Self {
        Self { store, max_chars, bytes_left: Arc::new(AtomicU64::new(max_bytes)) }
    }

    /// Characters of one result that reach the model.
    #[must_use]
    pub const fn max_chars(&self) -> usize {
        self.max_chars
    }

    /// Keeps a text.
    ///
    /// # Errors
    /// The run has kept too much already, or the store cannot take it; nothing is kept then.
    pub async fn keep(&self, text: Arc<str>) -> Result<ResultHandle, ResultStoreError> {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let take = |left: u64| left.checked_sub(bytes);
        if let Err(left) = self.bytes_left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) {
            return Err(ResultStoreError(format!(
                "{bytes} bytes are more than the {left} bytes the run may still keep"
            )));
        }
        let kept = self.store.put(text).await;
        if kept.is_err() {
            self.bytes_left.fetch_add(bytes, Ordering::AcqRel);
        }
        kept
    }

    /// The text behind a handle.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn read(&self, handle: ResultHandle) -> Result<Option<Arc<str>>, ResultStoreError> {
        self.store.read(handle).await
    }
}

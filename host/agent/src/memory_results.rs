//! Results kept in memory, for runs whose embedder gave no other place.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use hotcell_core::results::{ResultHandle, ResultStore, ResultStoreError};

/// Bytes that are kept; when more come, the oldest results go.
const MAX_BYTES: usize = 64 << 20;

/// Keeps the newest 64 MiB of results in the memory of this process; they are gone with it.
///
/// Handles count from 1: no other run can reach this object, so they need not be hard to guess.
#[derive(Default)]
pub struct MemoryResults {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    texts: VecDeque<Arc<str>>,
    /// How many were dropped before the first that is here.
    dropped: usize,
    bytes: usize,
}

impl fmt::Debug for MemoryResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryResults").finish_non_exhaustive()
    }
}

impl Kept {
    fn put(&mut self, text: Arc<str>) -> Result<ResultHandle, ResultStoreError> {
        if text.len() > MAX_BYTES {
            return Err(ResultStoreError(format!("{} bytes do not fit, {MAX_BYTES} are kept", text.len())));
        }
        self.bytes += text.len();
        self.texts.push_back(text);
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.texts.pop_front() else { break };
            self.bytes -= oldest.len();
            self.dropped += 1;
        }
        let number = self.dropped + self.texts.len();
        ResultHandle::parse(format!("r{number}")).map_err(|error| ResultStoreError(error.to_string()))
    }

    fn get(&self, handle: &ResultHandle) -> Option<Arc<str>> {
        let number: usize = handle.as_str().strip_prefix('r')?.parse().ok()?;
        self.texts.get(number.checked_sub(self.dropped + 1)?).map(Arc::clone)
    }
}

impl ResultStore for MemoryResults {
    fn put(&self, text: Arc<str>) -> BoxFuture<'_, Result<ResultHandle, ResultStoreError>> {
        let handle = self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(text);
        Box::pin(std::future::ready(handle))
    }

    fn read(&self, handle: ResultHandle) -> BoxFuture<'_, Result<Option<Arc<str>>, ResultStoreError>> {
        let text = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&handle);
        Box::pin(std::future::ready(Ok(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_results_go_when_there_are_too_many() {
        let mut kept = Kept::default();
        let text: Arc<str> = "x".repeat(MAX_BYTES / 3).into();
        let handles: Vec<_> = (0..5).map(|_| kept.put(Arc::clone(&text)).unwrap()).collect();
        let there: Vec<_> = handles.iter().map(|handle| kept.get(handle).is_some()).collect();
        assert_eq!(there, [false, false, true, true, true]);
        assert!(kept.put("x".repeat(MAX_BYTES + 1).into()).is_err());
        for odd in ["r0", "r6", "r", "2", "r-1"] {
            assert!(kept.get(&ResultHandle::parse(odd).unwrap()).is_none(), "{odd}");
        }
    }
}

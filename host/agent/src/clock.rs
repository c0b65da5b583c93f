//! Time as the loop sees it: passed in, so that tests can stop it.

use std::fmt;
use std::time::Instant;

use futures::future::BoxFuture;

/// A monotonic clock and its timer.
///
/// Nothing in this crate reads time from anywhere else.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Instant;

    /// Ends at the instant, or at once when it has passed.
    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()>;
}

impl fmt::Debug for dyn Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The clock of the tokio runtime, which a test can pause.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(tokio::time::Instant::from_std(deadline)))
    }
}

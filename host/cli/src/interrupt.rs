//! Ctrl-C: the first one cancels what runs, and if that takes too long, the process ends anyway.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long what was cancelled may take to end.
const GRACE: Duration = Duration::from_secs(1);

/// Fires `cancel` at Ctrl-C and gives the work a moment to end by itself; `None` when it does not.
pub(crate) async fn interruptible<T>(cancel: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return Some(done),
        () = interrupted() => cancel.cancel(),
    }
    tokio::time::timeout(GRACE, work).await.ok()
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // No handler could be installed: the signal then ends the process as if nobody had asked.
        std::future::pending::<()>().await;
    }
}

//! Ctrl-C: the first one cancels what runs, and if that takes too long, the process ends anyway.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::ending::Complaint;

/// How long what was cancelled may take to end.
const GRACE: Duration = Duration::from_secs(1);

/// Fires `cancel` at Ctrl-C and gives the work a moment to end by itself; it is dropped when it does not.
pub(crate) async fn interruptible<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    tokio::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = interrupted() => cancel.cancel(),
    }
    let late = || Complaint::cancelled("cancelled; what ran did not end within a second and was dropped");
    tokio::time::timeout(GRACE, work).await.unwrap_or_else(|_elapsed| Err(late().into()))
}

/// Waits for work that does not look at `cancel` itself, and drops it at Ctrl-C.
pub(crate) async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, Complaint>>,
) -> Result<T, Complaint> {
    tokio::select! {
        biased;
        done = work => done,
        () = cancel.cancelled() => Err(Complaint::cancelled("cancelled before any tool was called")),
    }
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // No handler could be installed: the signal then ends the process as if nobody had asked.
        std::future::pending::<()>().await;
    }
}

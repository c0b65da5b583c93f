//! Events as a stream.

use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream, StreamExt as _};
use hotcell_core::event::{Disclosure, EventSink, RunEvent, SinkError};
use tokio::sync::mpsc;

use super::RunResult;

/// Most events that wait in a [`RunStream`].
const WAITING: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// A sink and the events that go through it, at most `capacity` of them waiting.
///
/// A full channel slows the run down. When [`Events`] is dropped, the next event ends the run, because
/// nobody can be told any more.
#[must_use]
pub fn event_channel(capacity: NonZeroUsize, disclosure: Disclosure) -> (EventSender, Events) {
    let (sender, receiver) = mpsc::channel(capacity.get());
    (EventSender { sender, disclosure }, Events { receiver })
}

/// The sink of an [`event_channel`].
#[derive(Debug, Clone)]
pub struct EventSender {
    sender: mpsc::Sender<RunEvent>,
    disclosure: Disclosure,
}

impl EventSink for EventSender {
    fn disclosure(&self) -> Disclosure {
        self.disclosure
    }

    fn send(&self, event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>> {
        Box::pin(async move {
            let sent = self.sender.send(event).await;
            sent.map_err(|_closed| SinkError("nobody reads the events any more".to_owned()))
        })
    }
}

/// The events of an [`event_channel`], in order; ends when the sink is gone.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::Receiver<RunEvent>,
}

impl Stream for Events {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        self.receiver.poll_recv(context)
    }
}

/// A run and its events, with content and with what the model says while it works.
///
/// Reading the stream is what drives the run: nothing happens between two reads, and the time of the run
/// goes on. Dropping it ends the run like dropping the future of
/// [`Harness::run`](super::Harness::run).
#[must_use = "a run does nothing until its events are read"]
pub struct RunStream<'a> {
    run: Option<BoxFuture<'a, RunResult>>,
    events: Events,
    result: Option<RunResult>,
}

impl fmt::Debug for RunStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStream").field("has_ended", &self.run.is_none()).finish_non_exhaustive()
    }
}

impl<'a> RunStream<'a> {
    /// The stream of a run that tells its events to the sink that is passed in.
    pub(super) fn of<E>(
        run: impl FnOnce(EventSender) -> Result<BoxFuture<'a, RunResult>, E>,
    ) -> Result<Self, E> {
        let (sender, events) = event_channel(WAITING, Disclosure::Content);
        Ok(Self { run: Some(run(sender)?), events, result: None })
    }

    /// Reads what is left of the events, and gives the result.
    ///
    /// # Panics
    /// Never: a stream that has ended has its result.
    pub async fn finish(mut self) -> RunResult {
        while self.next().await.is_some() {}
        self.result.take().expect("a stream ends when the run has given its result")
    }

    /// The result, once the stream has ended.
    #[must_use]
    pub const fn result(&self) -> Option<&RunResult> {
        self.result.as_ref()
    }
}

impl Stream for RunStream<'_> {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        loop {
            let told = self.events.poll_next_unpin(context);
            if let Poll::Ready(Some(event)) = told {
                return Poll::Ready(Some(event));
            }
            let Some(run) = &mut self.run else { return told };
            match run.poll_unpin(context) {
                Poll::Ready(result) => {
                    self.run = None;
                    self.result = Some(result);
                }
                // It may have told something while it was polled. It goes on also when it tells nothing more.
                Poll::Pending => {
                    return match self.events.poll_next_unpin(context) {
                        Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
                        Poll::Ready(None) | Poll::Pending => Poll::Pending,
                    };
                }
            }
        }
    }
}

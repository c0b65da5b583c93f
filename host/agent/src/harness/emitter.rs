//! Sending events, in order, to a sink that may be slow, stuck or broken.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use hotcell_core::event::{EventKind, EventMeta, EventSink, RunEvent, SinkError};
use hotcell_core::ids::{RunId, SessionId};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

/// How long the events of a run that is over may take, all together.
const CLOSING_TIME: Duration = Duration::from_millis(50);

/// What keeps the events of one run.
pub(super) struct Emitter {
    run: RunId,
    session: Option<SessionId>,
    clock: Arc<dyn Clock>,
    began: Instant,
    spent: Duration,
    next_sequence: u64,
    deadline: Option<Instant>,
    cancel: CancellationToken,
    sink: Option<Arc<dyn EventSink>>,
    /// When the last events have to be out, once the run's time is up or its caller gave up.
    closing: Option<Instant>,
    events: Vec<RunEvent>,
}

/// What an emitter needs to know.
pub(super) struct EmitterSetup {
    pub(super) run: RunId,
    pub(super) session: Option<SessionId>,
    pub(super) clock: Arc<dyn Clock>,
    /// The time the run took before it stood still.
    pub(super) spent: Duration,
    /// The place of the first event.
    pub(super) next_sequence: u64,
    pub(super) deadline: Option<Instant>,
    pub(super) cancel: CancellationToken,
    pub(super) sink: Option<Arc<dyn EventSink>>,
}

impl Emitter {
    pub(super) fn new(setup: EmitterSetup) -> Self {
        let EmitterSetup { run, session, clock, spent, next_sequence, deadline, cancel, sink } = setup;
        let began = clock.now();
        Self {
            run,
            session,
            clock,
            began,
            spent,
            next_sequence,
            deadline,
            cancel,
            sink,
            closing: None,
            events: Vec::new(),
        }
    }

    /// Keeps the event and hands it to the sink.
    ///
    /// A sink that is still busy when the run's time is up gets a last moment and then no more events;
    /// that is not an error, because the run ends anyway.
    pub(super) async fn emit(&mut self, turn: u32, kind: EventKind) -> Result<(), SinkError> {
        let meta = EventMeta {
            run: self.run.clone(),
            session: self.session.clone(),
            sequence: self.next_sequence,
            turn,
            attempt: 1,
            elapsed: self.elapsed(),
        };
        let event = RunEvent { meta, kind };
        self.next_sequence = self.next_sequence.saturating_add(1);
        self.events.push(event.clone());
        let Some(sink) = self.sink.as_ref().map(Arc::clone) else { return Ok(()) };
        // The future of a sink that panicked is dropped and the sink never used again, so nothing
        // that the panic left half done is seen.
        let mut send = AssertUnwindSafe(sink.send(event)).catch_unwind();
        let sent = tokio::select! {
            biased;
            sent = &mut send => Some(sent),
            () = self.time_up() => {
                let until = self.closing_time();
                tokio::select! {
                    biased;
                    sent = &mut send => Some(sent),
                    () = self.clock.sleep_until(until) => None,
                }
            }
        };
        match sent {
            Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => {
                self.sink = None;
                Err(error)
            }
            Some(Err(_panic)) => {
                self.sink = None;
                Err(SinkError("it panicked".to_owned()))
            }
            None => {
                self.sink = None;
                Ok(())
            }
        }
    }

    /// The events, in order.
    pub(super) fn into_events(self) -> Vec<RunEvent> {
        self.events
    }

    /// Replaces the last event, which the sink did not take.
    pub(super) fn replace_last(&mut self, kind: EventKind) {
        if let Some(last) = self.events.last_mut() {
            last.kind = kind;
        }
    }

    /// The place of the next event.
    pub(super) const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Since the run started, without the time it stood still.
    pub(super) fn elapsed(&self) -> Duration {
        self.spent.saturating_add(self.clock.now().saturating_duration_since(self.began))
    }

    async fn time_up(&self) {
        let deadline = async {
            match self.deadline {
                Some(deadline) => self.clock.sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = deadline => {}
        }
    }

    fn closing_time(&mut self) -> Instant {
        let now = self.clock.now();
        *self.closing.get_or_insert_with(|| now.checked_add(CLOSING_TIME).unwrap_or(now))
    }
}

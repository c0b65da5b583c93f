//! Telling of a run, in order, to watchers that may be slow, stuck or broken.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use hotcell_core::event::{
    Disclosure, EventContent, EventKind, EventMeta, EventSink, Hook, HookError, RunEvent, SinkError,
};
use hotcell_core::ids::{RunId, SessionId};
use tokio_util::sync::CancellationToken;

use super::result::RunWarning;
use crate::clock::Clock;
use crate::wording::quote;

/// How long the events of a run that is over may take, all together.
const CLOSING_TIME: Duration = Duration::from_millis(50);

/// Most warnings of one run; the rest are counted.
const MAX_WARNINGS: usize = 100;

/// What keeps the events of one run.
pub(super) struct Emitter {
    setup: EmitterSetup,
    began: Instant,
    next_sequence: u64,
    /// When the last events have to be out, once the run's time is up or its caller gave up.
    closing: Option<Instant>,
    events: Vec<RunEvent>,
    warnings: Vec<RunWarning>,
    warnings_left_out: u64,
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
    /// Who is told, in order.
    pub(super) watchers: Vec<Watcher>,
}

/// Somebody who is told of a run.
#[derive(Clone)]
pub(super) enum Watcher {
    /// Its errors end the run.
    Sink(Arc<dyn EventSink>),
    /// Its errors are warnings.
    Hook(Arc<dyn Hook>),
}

/// What came of telling one watcher.
enum Told {
    Stays,
    /// It sees no more of the run.
    Leaves,
    Failed(SinkError),
}

impl Emitter {
    pub(super) fn new(setup: EmitterSetup) -> Self {
        Self {
            began: setup.clock.now(),
            next_sequence: setup.next_sequence,
            setup,
            closing: None,
            events: Vec::new(),
            warnings: Vec::new(),
            warnings_left_out: 0,
        }
    }

    /// Keeps the event, and tells everybody. The content is for those who asked for it.
    ///
    /// A watcher that is still busy when the run's time is up gets a last moment and then no more events;
    /// that is not an error, because the run ends anyway.
    pub(super) async fn emit(
        &mut self,
        turn: u32,
        kind: EventKind,
        content: impl FnOnce() -> Option<EventContent>,
    ) -> Result<(), SinkError> {
        let content = if self.shows_content() { content() } else { None };
        let event = RunEvent { meta: self.meta(turn, self.next_sequence), kind, content };
        self.next_sequence = self.next_sequence.saturating_add(1);
        self.events.push(event.without_content());
        self.tell(&event).await
    }

    /// Tells those who see content what a model says while it works; it is kept nowhere.
    pub(super) async fn emit_delta(&mut self, turn: u32, kind: EventKind) -> Result<(), SinkError> {
        let place = self.next_sequence.saturating_sub(1);
        self.tell(&RunEvent { meta: self.meta(turn, place), kind, content: None }).await
    }

    /// Whether anybody sees content.
    pub(super) fn shows_content(&self) -> bool {
        self.setup.watchers.iter().any(|watcher| watcher.disclosure() == Disclosure::Content)
    }

    /// The events and warnings, in order.
    pub(super) fn into_told(mut self) -> (Vec<RunEvent>, Vec<RunWarning>) {
        if self.warnings_left_out > 0 {
            self.warnings.push(RunWarning {
                source: "run".to_owned(),
                sequence: self.next_sequence.saturating_sub(1),
                message: format!("{} more warnings are not listed", self.warnings_left_out),
            });
        }
        (self.events, self.warnings)
    }

    /// Replaces the last event, which a sink did not take.
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
        let now = self.setup.clock.now();
        self.setup.spent.saturating_add(now.saturating_duration_since(self.began))
    }

    fn meta(&self, turn: u32, sequence: u64) -> EventMeta {
        EventMeta {
            run: self.setup.run.clone(),
            session: self.setup.session.clone(),
            sequence,
            turn,
            attempt: 1,
            elapsed: self.elapsed(),
        }
    }

    async fn tell(&mut self, event: &RunEvent) -> Result<(), SinkError> {
        let mut result = Ok(());
        let mut at = 0;
        while let Some(watcher) = self.setup.watchers.get(at).cloned() {
            let shown = match watcher.disclosure() {
                Disclosure::Content => Some(event.clone()),
                Disclosure::Metadata if event.kind.is_delta() => None,
                Disclosure::Metadata => Some(event.without_content()),
            };
            let told = match shown {
                Some(shown) => self.show(&watcher, shown).await,
                None => Told::Stays,
            };
            match told {
                Told::Stays => {
                    at += 1;
                    continue;
                }
                Told::Leaves => {}
                Told::Failed(error) => result = Err(error),
            }
            self.setup.watchers.remove(at);
        }
        result
    }

    async fn show(&mut self, watcher: &Watcher, event: RunEvent) -> Told {
        let sequence = event.meta.sequence;
        match watcher {
            Watcher::Sink(sink) => match self.in_time(async { sink.send(event).await }).await {
                Some(Ok(Ok(()))) => Told::Stays,
                Some(Ok(Err(error))) => Told::Failed(error),
                Some(Err(_panic)) => Told::Failed(SinkError("it panicked".to_owned())),
                None => Told::Leaves,
            },
            Watcher::Hook(hook) => match self.in_time(async { hook.observe(event).await }).await {
                Some(Ok(Ok(()))) => Told::Stays,
                Some(Ok(Err(HookError(message)))) => {
                    self.warn(hook.name(), sequence, &message);
                    Told::Stays
                }
                Some(Err(_panic)) => {
                    self.warn(hook.name(), sequence, "it panicked and sees no more of the run");
                    Told::Leaves
                }
                None => {
                    self.warn(hook.name(), sequence, "it was still busy when the time of the run was up");
                    Told::Leaves
                }
            },
        }
    }

    /// What a watcher came to, unless the run is over first. The future of one that panicked is dropped
    /// and the watcher never used again, so nothing that the panic left half done is seen.
    async fn in_time<T>(&mut self, telling: impl Future<Output = T>) -> Option<std::thread::Result<T>> {
        let telling = AssertUnwindSafe(telling).catch_unwind();
        let mut telling = std::pin::pin!(telling);
        tokio::select! {
            biased;
            told = &mut telling => Some(told),
            () = self.time_up() => {
                let until = self.closing_time();
                tokio::select! {
                    biased;
                    told = &mut telling => Some(told),
                    () = self.setup.clock.sleep_until(until) => None,
                }
            }
        }
    }

    fn warn(&mut self, source: &str, sequence: u64, message: &str) {
        if self.warnings.len() < MAX_WARNINGS {
            let warning = RunWarning { source: quote(source), sequence, message: quote(message) };
            self.warnings.push(warning);
        } else {
            self.warnings_left_out = self.warnings_left_out.saturating_add(1);
        }
    }

    async fn time_up(&self) {
        let deadline = async {
            match self.setup.deadline {
                Some(deadline) => self.setup.clock.sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.setup.cancel.cancelled() => {}
            () = deadline => {}
        }
    }

    fn closing_time(&mut self) -> Instant {
        let now = self.setup.clock.now();
        *self.closing.get_or_insert_with(|| now.checked_add(CLOSING_TIME).unwrap_or(now))
    }
}

impl Watcher {
    fn disclosure(&self) -> Disclosure {
        match self {
            Self::Sink(sink) => sink.disclosure(),
            Self::Hook(hook) => hook.disclosure(),
        }
    }
}

//! Other calls while attacks run: does the host keep answering, and how late?

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, stderr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hotcell::units::format_duration;
use hotcell::{
    Asked, CallId, Caller, Component, ComponentError, Door, DoorRequest, Limits, Outcome, TokioClock, ToolSet,
};

use crate::console::note_part;
use crate::ending::Complaint;

/// How often another call is made.
const INTERVAL: Duration = Duration::from_millis(25);

/// What the other calls count.
const TEXT: &str = "the host keeps answering\nwhile a guest does what it wants\n";

/// What happened to the other calls.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pulse {
    /// Calls that were answered.
    pub(super) answered: u64,
    /// The longest time one took.
    pub(super) worst: Duration,
}

impl Pulse {
    fn add(&mut self, took: Duration) {
        self.answered += 1;
        self.worst = self.worst.max(took);
    }
}

/// Everything that is known about the other calls so far.
#[derive(Debug, Default)]
struct State {
    /// The attacks that run at the moment, by call; and what each is called.
    running: BTreeMap<CallId, String>,
    /// The other calls that were answered while an attack ran, by attack.
    during: BTreeMap<CallId, Pulse>,
    all: Pulse,
    failure: Option<String>,
}

/// Makes a small call every 25 ms and remembers how long each took.
#[derive(Clone)]
pub(super) struct Heartbeat {
    door: Door,
    state: Arc<Mutex<State>>,
    live: bool,
}

impl std::fmt::Debug for Heartbeat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heartbeat").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Heartbeat {
    /// Calls the tool `count` of this component; with a terminal at standard error it shows a live line.
    pub(super) fn new(text_stats: &Component) -> Result<Self, Complaint> {
        let offers = text_stats.offers().map_err(|error: ComponentError| Complaint::from(error))?;
        let tools = ToolSet::new(offers).map_err(|error| {
            Complaint::failed("demo", "the component `text-stats` cannot be offered").because(error)
        })?;
        let door = Door::new(Arc::new(tools), Arc::new(Limits::default()), Arc::new(TokioClock));
        Ok(Self { door, state: Arc::default(), live: stderr().is_terminal() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attack begins.
    pub(super) fn begin(&self, call: &CallId, tool: &str) {
        self.lock().running.insert(call.clone(), tool.to_owned());
    }

    /// An attack has ended; says what happened to the other calls meanwhile.
    pub(super) fn end(&self, call: &CallId) -> Pulse {
        let mut state = self.lock();
        state.running.remove(call);
        if self.live {
            note_part("\r\x1b[2K");
        }
        state.during.get(call).copied().unwrap_or_default()
    }

    /// All other calls, and the first one that did not end well.
    pub(super) fn total(&self) -> (Pulse, Option<String>) {
        let state = self.lock();
        (state.all, state.failure.clone())
    }

    /// Beats for ever; the caller drops it when the run has ended.
    pub(super) async fn beat(self) {
        let arguments = serde_json::json!({ "text": TEXT }).to_string();
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let Ok(id) = CallId::parse("heartbeat") else { return };
        loop {
            ticks.tick().await;
            let request = DoorRequest::new(Caller::local(), id.clone(), "count", arguments.as_str());
            let began = Instant::now();
            let answer = self.door.call(&request, Asked::Nobody).await;
            self.record(began.elapsed(), answer.map(|answer| answer.report.outcome));
        }
    }

    fn record<E: std::fmt::Display>(&self, took: Duration, ended: Result<Outcome, E>) {
        let mut state = self.lock();
        match ended {
            Ok(Outcome::Ok) => {}
            Ok(outcome) => {
                state.failure.get_or_insert_with(|| outcome.to_string());
            }
            Err(error) => {
                state.failure.get_or_insert_with(|| error.to_string());
            }
        }
        state.all.add(took);
        let running: Vec<_> = state.running.keys().cloned().collect();
        for call in running {
            state.during.entry(call).or_default().add(took);
        }
        if self.live
            && let Some((call, tool)) = state.running.first_key_value()
        {
            let pulse = state.during.get(call).copied().unwrap_or_default();
            note_part(format_args!("\r\x1b[2K  running {tool} ... {}", shown(pulse)));
        }
    }
}

/// How the other calls fared, in words.
pub(super) fn shown(pulse: Pulse) -> String {
    let plural = if pulse.answered == 1 { "call" } else { "calls" };
    format!("{} other {plural} answered, the slowest in {}", pulse.answered, format_duration(pulse.worst))
}

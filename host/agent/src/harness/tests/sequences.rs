//! Random scripts through the whole driver: whatever happens, calls, results and events fit together.

use std::collections::BTreeSet;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use hotcell_core::approval::{ApprovalRequest, Approver, ApproverError, Decision};
use hotcell_core::event::EventKind;
use hotcell_core::limits::{Limits, OnTurnLimit};
use hotcell_core::message::Message;
use hotcell_core::model::{ModelError, ModelReply, ReplyStop};
use hotcell_core::outcome::EventOutcome;
use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::middleware::Layer;
use super::support::{Counter, add, nap, request, touch};
use crate::clock::TokioClock;
use crate::harness::{Harness, HarnessConfig, ResumeRequest, RunResult};
use crate::machine::EntryStatus;
use crate::scripted_model::{ScriptedModel, call_reply, text_reply};
use crate::tool_set::ToolSet;

/// One reply, or what comes instead.
#[derive(Debug, Clone)]
enum Says {
    Calls(Vec<&'static str>),
    Cut(Vec<&'static str>),
    Twice,
    Nothing,
    Text,
    Fails,
}

/// How a run is driven.
#[derive(Debug, Clone)]
struct Play {
    script: Vec<Says>,
    decisions: Vec<u8>,
    at_once: usize,
    layered: bool,
    cancel_after_ms: Option<u64>,
    pause_after_ms: Option<u64>,
    max_time_ms: Option<u64>,
    max_tool_calls: u32,
    on_turn_limit: OnTurnLimit,
}

const CALLS: [(&str, &str); 8] = [
    ("add", r#"{"a": 1, "b": 2}"#),
    ("add", r#"{"a": "one"}"#),
    ("add", "no JSON"),
    ("ADD", r#"{"a": 3, "b": 4}"#),
    ("missing", "{}"),
    ("touch", "{}"),
    ("nap", r#"{"ms": 40}"#),
    ("nap", r#"{"ms": 4000}"#),
];

fn calls(kinds: &[&'static str]) -> ModelReply {
    let ids: Vec<String> = (0..kinds.len()).map(|n| format!("c{n}")).collect();
    let of = |(id, kind): (&String, &&'static str)| {
        let place: usize = kind.parse().unwrap();
        (id.clone(), CALLS[place])
    };
    let all: Vec<_> = ids.iter().zip(kinds).map(of).collect();
    call_reply(all.iter().map(|(id, (name, arguments))| (id.as_str(), *name, *arguments)))
}

fn reply(says: &Says) -> Result<ModelReply, ModelError> {
    Ok(match says {
        Says::Calls(kinds) => calls(kinds),
        Says::Cut(kinds) => ModelReply { stop: ReplyStop::MaxTokens, ..calls(kinds) },
        Says::Twice => call_reply([("same", "add", "{}"), ("same", "add", "{}")]),
        Says::Nothing => text_reply(""),
        Says::Text => text_reply("done"),
        Says::Fails => return Err(ModelError::Provider { message: "down".into(), status: Some(500) }),
    })
}

/// Decides by a list, over and over.
struct Decides(Vec<u8>, AtomicUsize);

impl Approver for Decides {
    fn decide(&self, _request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>> {
        let place = self.1.fetch_add(1, Ordering::SeqCst);
        let kind = self.0[place % self.0.len()];
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(u64::from(kind))).await;
            Ok(match kind % 6 {
                0 | 1 => Decision::Approve,
                2 => Decision::Deny("no".into()),
                3 => Decision::Edit(json!({})),
                4 => Decision::Suspend,
                _ => return Err(ApproverError("gone".into())),
            })
        })
    }
}

fn after(ms: Option<u64>) -> CancellationToken {
    let token = CancellationToken::new();
    let (fires, ms) = (token.clone(), ms.unwrap_or(3_600_000));
    let mut timers = tokio::task::JoinSet::new();
    timers.spawn(async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        fires.cancel();
    });
    timers.detach_all();
    token
}

/// Runs the play, going on as long as the run stands still, and gives every part of it.
async fn run(play: &Play, effect: &Counter) -> Vec<RunResult> {
    let limits = Limits {
        max_turns: NonZeroU32::new(6),
        on_turn_limit: play.on_turn_limit,
        max_tool_calls: NonZeroU32::new(play.max_tool_calls),
        max_tool_calls_per_turn: NonZeroU32::new(5).unwrap(),
        max_time: play.max_time_ms.map(Duration::from_millis),
        ..Limits::default()
    };
    let model = ScriptedModel::new(play.script.iter().map(reply));
    let tools = Arc::new(ToolSet::new([add(), nap(effect), touch(effect)]).unwrap());
    let config = HarnessConfig {
        concurrent_calls: NonZeroUsize::new(play.at_once).unwrap(),
        ..HarnessConfig::default()
    };
    let mut harness = Harness::new(Arc::new(model), tools, Arc::new(TokioClock)).with_config(config);
    if play.layered {
        // It changes nothing, and makes every call go the long way.
        harness = harness.with_middleware(Arc::new(Layer::default()));
    }
    let approver = Arc::new(Decides(play.decisions.clone(), AtomicUsize::new(0)));
    let request = request("go")
        .limits(limits)
        .approver(Arc::clone(&approver) as _)
        .cancel(after(play.cancel_after_ms))
        .pause(after(play.pause_after_ms));
    let mut parts = vec![harness.run(request).await.unwrap()];
    while let Some(suspended) = parts.last().and_then(|part| part.suspended.clone()) {
        let text = serde_json::to_string(&suspended).unwrap();
        let request = ResumeRequest::new(serde_json::from_str(&text).unwrap())
            .approver(Arc::clone(&approver) as _)
            .cancel(after(play.cancel_after_ms));
        parts.push(harness.resume(request).await.unwrap());
        assert!(parts.len() < 100, "a run that is asked again gets on");
    }
    parts
}

/// Each call of each reply that was accepted has one result, in order, with its id.
fn check_transcript(result: &RunResult) {
    let mut open: Vec<String> = Vec::new();
    let mut answered = 0;
    for message in result.transcript.messages() {
        match message.as_ref() {
            Message::Tool { call_id, .. } => {
                assert_eq!(open.remove(0), *call_id);
                answered += 1;
            }
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty());
                open = calls.iter().map(|call| call.id.clone()).collect();
            }
            _ => assert!(open.is_empty()),
        }
    }
    assert!(open.is_empty() || result.suspended.is_some(), "{open:?}");
    assert_eq!(answered, result.calls.len());
}

/// Events count up from 0 over all parts; a part ends with one last event; a call starts at most once and
/// ends exactly once, after it started and before the last event.
fn check_events(parts: &[RunResult]) {
    let events: Vec<_> = parts.iter().flat_map(|part| &part.events).collect();
    let places: Vec<u64> = events.iter().map(|event| event.meta.sequence).collect();
    assert_eq!(places, (0..).take(places.len()).collect::<Vec<u64>>());
    let last =
        |kind: &EventKind| matches!(kind, EventKind::RunFinished { .. } | EventKind::RunSuspended { .. });
    for part in parts {
        let lasts = part.events.iter().filter(|event| last(&event.kind)).count();
        assert_eq!(lasts, 1);
        assert!(last(&part.events.last().unwrap().kind));
        assert_eq!(
            part.suspended.is_some(),
            matches!(part.events.last().unwrap().kind, EventKind::RunSuspended { .. })
        );
    }
    let (mut started, mut finished) = (BTreeSet::new(), BTreeSet::new());
    let mut asked = 0_i32;
    for event in &events {
        match &event.kind {
            EventKind::ModelStarted => asked += 1,
            EventKind::ModelFinished { .. } => asked -= 1,
            EventKind::ToolStarted { call, .. } => assert!(started.insert(call.clone())),
            EventKind::ToolFinished { call, outcome, .. } => {
                assert!(finished.insert(call.clone()), "{call} ended twice");
                let ran = matches!(outcome, EventOutcome::Success | EventOutcome::TimedOut);
                assert!(!ran || started.contains(call), "{call} ended with {outcome} and never started");
                assert!(*outcome != EventOutcome::Skipped || !started.contains(call));
            }
            _ => {}
        }
        assert!((0..=1).contains(&asked));
    }
    assert_eq!(asked, 0);
    assert!(started.is_subset(&finished));
    let records: BTreeSet<_> = parts.last().unwrap().calls.iter().map(|record| record.call.clone()).collect();
    assert_eq!(finished, records);
}

fn check(play: &Play, parts: &[RunResult]) {
    let end = parts.last().unwrap();
    assert!(end.suspended.is_none());
    check_transcript(end);
    check_events(parts);
    assert!(end.tool_calls <= play.max_tool_calls);
    let open = |status: EntryStatus| {
        matches!(status, EntryStatus::Prepared | EntryStatus::Approval | EntryStatus::Started)
    };
    assert!(!end.calls.iter().any(|record| open(record.status)));
    let json = serde_json::to_string(end).unwrap();
    assert_eq!(&serde_json::from_str::<RunResult>(&json).unwrap(), end);
}

fn says() -> impl Strategy<Value = Says> {
    let kinds =
        || prop::collection::vec(prop::sample::select(vec!["0", "1", "2", "3", "4", "5", "6", "7"]), 1..7);
    prop_oneof![
        12 => kinds().prop_map(Says::Calls),
        2 => kinds().prop_map(Says::Cut),
        1 => Just(Says::Twice),
        1 => Just(Says::Nothing),
        1 => Just(Says::Text),
        1 => Just(Says::Fails),
    ]
}

fn a_play() -> impl Strategy<Value = Play> {
    let turn_limit =
        prop_oneof![Just(OnTurnLimit::FinalAnswer), Just(OnTurnLimit::Stop), Just(OnTurnLimit::Fail)];
    let times = (
        prop::option::weighted(0.3, 0_u64..6_000),
        prop::option::weighted(0.3, 0_u64..3_000),
        prop::option::weighted(0.3, 1_u64..6_000),
    );
    (
        prop::collection::vec(says(), 0..7),
        prop::collection::vec(any::<u8>(), 1..5),
        1_usize..4,
        any::<bool>(),
        times,
        1_u32..20,
        turn_limit,
    )
        .prop_map(|(script, decisions, at_once, layered, times, max_tool_calls, on_turn_limit)| {
            // Somebody who only ever leaves things for later never gets on.
            let decisions = decisions.into_iter().chain([0]).collect();
            let (cancel_after_ms, pause_after_ms, max_time_ms) = times;
            Play {
                script,
                decisions,
                at_once,
                layered,
                cancel_after_ms,
                pause_after_ms,
                max_time_ms,
                max_tool_calls,
                on_turn_limit,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// P-12, P-51.
    #[test]
    fn whatever_happens_calls_results_and_events_fit_together(play in a_play()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let effect = Counter::default();
            let parts = run(&play, &effect).await;
            check(&play, &parts);
            let effects = effect.get();
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(effect.get(), effects, "nothing has an effect after the run");
        });
    }
}

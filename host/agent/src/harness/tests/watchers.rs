//! Hooks, content, what a model says while it works, and runs read as streams.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _};
use hotcell_core::event::{
    Disclosure, EventContent, EventKind, EventSink, Hook, HookError, RunEvent, SinkError,
};
use hotcell_core::limits::Limits;
use hotcell_core::model::{Model, ModelError, ModelEvent, ModelRequest};

use super::middleware::Layer;
use super::support::{Counter, Sink, add, harness, name, names, nap, request, script};
use crate::harness::{Harness, event_channel};
use crate::scripted_model::{call_reply, text_reply};
use crate::status::ErrorKind;

/// A hook that does something at each event.
struct Watch<F>(&'static str, Disclosure, Mutex<Vec<RunEvent>>, F);

impl<F> Hook for Watch<F>
where
    F: Fn(&RunEvent) -> Result<(), HookError> + Send + Sync,
{
    fn name(&self) -> &str {
        self.0
    }

    fn disclosure(&self) -> Disclosure {
        self.1
    }

    fn observe(&self, event: RunEvent) -> BoxFuture<'_, Result<(), HookError>> {
        let result = (self.3)(&event);
        self.2.lock().unwrap().push(event);
        Box::pin(std::future::ready(result))
    }
}

fn one_call() -> hotcell_core::model::ModelReply {
    call_reply([("c1", "add", r#"{"a": 2, "b": 3}"#)])
}

fn adding() -> Harness {
    harness(script([one_call(), text_reply("five")]), [add()])
}

/// H-36, P-53.
#[tokio::test]
async fn a_hook_that_fails_is_a_warning_and_the_run_goes_on() {
    let fails = |event: &RunEvent| match event.kind {
        EventKind::ToolFinished { .. } => Err(HookError("disk\u{7} full".into())),
        EventKind::RunFinished { .. } => panic!("at the last event"),
        _ => Ok(()),
    };
    let hook = Arc::new(Watch("audit", Disclosure::Metadata, Mutex::default(), fails));
    let harness = adding().with_hook(Arc::clone(&hook) as _);
    let result = harness.run(request("go")).await.unwrap().into_result().unwrap();
    let told: Vec<_> = result.warnings.iter().map(|w| (w.source.as_str(), w.message.as_str())).collect();
    assert_eq!(told, [("audit", "disk\\u{7} full"), ("audit", "it panicked and sees no more of the run")]);
    assert_eq!(result.events[usize::try_from(result.warnings[0].sequence).unwrap()].meta.sequence, 4);
    let seen = hook.2.lock().unwrap();
    assert_eq!(*seen, result.events[..seen.len()], "it saw the events of the result, without content");
}

#[tokio::test]
async fn warnings_without_end_are_counted_and_not_kept() {
    let hook =
        Watch("noisy", Disclosure::Metadata, Mutex::default(), |_: &RunEvent| Err(HookError("no".into())));
    let turns = (0..60).map(|n| call_reply([("c1", "add", format!(r#"{{"a": {n}, "b": 0}}"#).as_str())]));
    let limits = Limits { max_turns: None, loop_guard: None, ..Limits::default() };
    let model = script(turns.chain([text_reply("done")]));
    let harness = harness(model, [add()]).with_hook(Arc::new(hook));
    let result = harness.run(request("go").limits(limits)).await.unwrap();
    assert_eq!(result.warnings.len(), 101);
    let last = result.warnings.last().unwrap();
    let events = result.events.len();
    assert_eq!(last.message, format!("{} more warnings are not listed", events - 100));
}

/// P-52.
#[tokio::test]
async fn content_is_shown_to_those_who_ask_for_it_and_kept_nowhere() {
    let watch = |disclosure| Arc::new(Watch("watch", disclosure, Mutex::default(), |_: &RunEvent| Ok(())));
    let (plain, full) = (watch(Disclosure::Metadata), watch(Disclosure::Content));
    let harness = adding().with_hook(Arc::clone(&plain) as _).with_hook(Arc::clone(&full) as _);
    let result = harness.run(request("what is 2 + 3?")).await.unwrap();
    assert!(plain.2.lock().unwrap().iter().all(|event| event.content.is_none()));
    assert!(result.events.iter().all(|event| event.content.is_none()));
    let texts: Vec<String> = full
        .2
        .lock()
        .unwrap()
        .iter()
        .filter_map(|event| Some((name(&event.kind), event.content.as_ref()?)))
        .map(|(name, content)| match content {
            EventContent::Prompt(blocks) => format!("{name}: {}", blocks[0].to_text()),
            EventContent::Reply(message) | EventContent::Result(message) => {
                format!("{name}: {}", serde_json::to_string(message).unwrap())
            }
            EventContent::Arguments(arguments) => format!("{name}: {arguments}"),
            EventContent::Output(text) => format!("{name}: {text}"),
            other => format!("{name}: {other:?}"),
        })
        .collect();
    assert_eq!(texts.len(), 6, "{texts:#?}");
    assert_eq!(texts[0], "run_started: what is 2 + 3?");
    assert!(texts[1].starts_with("model_finished success") && texts[1].contains("c1"), "{}", texts[1]);
    assert_eq!(texts[2], r#"tool_started run:0:1 add: {"a":2,"b":3}"#);
    assert!(texts[3].starts_with("tool_finished run:0:1") && texts[3].contains("sum"), "{}", texts[3]);
    assert_eq!(texts[5], "run_finished completed: five");
}

/// A model that talks while it works, a piece at a time.
struct Talks(Vec<Result<ModelEvent, ModelError>>);

impl Model for Talks {
    fn name(&self) -> &str {
        "talks"
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        stream::iter(self.0.clone()).boxed()
    }
}

fn talks() -> Arc<Talks> {
    let text = |text: &str| Ok(ModelEvent::TextDelta(text.into()));
    let thinks = Ok(ModelEvent::ThinkingDelta("hm".into()));
    Arc::new(Talks(vec![thinks, text("fi"), text("ve"), Ok(ModelEvent::Reply(text_reply("five")))]))
}

/// P-65.
#[tokio::test]
async fn what_a_model_says_while_it_works_is_streamed_and_not_kept() {
    let pieces = |events: &[RunEvent]| -> Vec<String> {
        let piece = |event: &RunEvent| match &event.kind {
            EventKind::TextDelta { text } => Some(format!("{} {text}", event.meta.sequence)),
            EventKind::ThinkingDelta { text } => Some(format!("{} ({text})", event.meta.sequence)),
            _ => None,
        };
        events.iter().filter_map(piece).collect()
    };
    for (harness, expected) in [
        (harness(talks(), []), vec!["1 (hm)", "1 fi", "1 ve"]),
        (harness(talks(), []).with_middleware(Arc::new(Layer::default())), vec!["1 five"]),
    ] {
        let mut stream = harness.stream(request("go")).unwrap();
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        let result = stream.finish().await;
        assert_eq!(pieces(&events), expected);
        assert!(pieces(&result.events).is_empty());
        let kept: Vec<RunEvent> = events
            .into_iter()
            .filter(|event| {
                !matches!(event.kind, EventKind::TextDelta { .. } | EventKind::ThinkingDelta { .. })
            })
            .map(|event| RunEvent { content: None, ..event })
            .collect();
        assert_eq!(kept, result.events, "the rest are the events of the result");
    }
}

/// A model that says a piece of so many bytes again and again.
struct Endless(usize, Duration);

impl Model for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        let piece = async || {
            if !self.1.is_zero() {
                tokio::time::sleep(self.1).await;
            }
            Some((Ok(ModelEvent::TextDelta("x".repeat(self.0))), ()))
        };
        stream::unfold((), move |()| piece()).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_talks_without_end_is_ended_by_the_deadline_and_by_a_cap() {
    let limits = Limits { max_time: Some(Duration::from_millis(500)), ..Limits::default() };
    let result = harness(Arc::new(Endless(1, Duration::from_millis(1))), [])
        .run(request("go").limits(limits))
        .await
        .unwrap();
    assert_eq!(result.outcome(), "timeout");
    let result = harness(Arc::new(Endless(1 << 20, Duration::ZERO)), []).run(request("go")).await.unwrap();
    let error = result.error.unwrap();
    assert_eq!(error.kind, ErrorKind::MalformedReply);
    assert!(error.message.contains("at most 16777216 are allowed"), "{}", error.message);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_stream_stops_the_run() {
    let effect = Counter::default();
    let model = script([call_reply([("c1", "nap", "{}")]), text_reply("done")]);
    let harness = harness(model, [nap(&effect)]);
    let mut stream = harness.stream(request("go")).unwrap();
    while let Some(event) = stream.next().await {
        if matches!(event.kind, EventKind::ToolStarted { .. }) {
            break;
        }
    }
    assert!(stream.result().is_none());
    drop(stream);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(effect.get(), 0);
}

#[tokio::test]
async fn a_stream_goes_beside_a_sink_and_finishes_without_being_read() {
    let sink = Arc::new(Sink::default());
    let harness = adding();
    let result = harness.stream(request("go").sink(Arc::clone(&sink) as _)).unwrap().finish().await;
    assert_eq!(sink.names(), names(&result));
    assert!(result.ok());
}

#[tokio::test]
async fn a_channel_slows_the_run_down_and_ends_it_when_nobody_reads() {
    let one = NonZeroUsize::MIN;
    let (sender, events) = event_channel(one, Disclosure::Metadata);
    let harness = adding();
    let run = harness.run(request("go").sink(Arc::new(sender)));
    let (result, read) = tokio::join!(run, events.collect::<Vec<_>>());
    assert_eq!(read, result.unwrap().events);

    let (sender, events) = event_channel(one, Disclosure::Metadata);
    drop(events);
    let result = adding().run(request("go").sink(Arc::new(sender))).await.unwrap();
    let error = result.error.unwrap();
    assert_eq!(error.kind, ErrorKind::EventSink);
    assert_eq!(error.message, "event sink failed: nobody reads the events any more");
}

#[tokio::test]
async fn a_sink_that_panics_before_it_waits_ends_the_run_and_nothing_else() {
    struct AtOnce;
    impl EventSink for AtOnce {
        fn send(&self, _event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>> {
            panic!("at once")
        }
    }
    let result = adding().run(request("go").sink(Arc::new(AtOnce))).await.unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::EventSink);
}

//! Things around the run that fail.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use hotcell_core::approval::{ApprovalRequest, Approver, ApproverError, Decision};
use hotcell_core::event::{EventSink, RunEvent, SinkError};
use hotcell_core::model::{Model, ModelError, ModelEvent, ModelRequest};

use super::support::{Approves, Counter, Sink, add, harness, names, request, results, script, touch};
use crate::harness::{HarnessConfig, RunError};
use crate::machine::EntryStatus;
use crate::scripted_model::{ScriptedModel, call_reply, text_reply};
use crate::status::{ErrorKind, RunStatus, StopReason};

/// P-17.
#[tokio::test]
async fn a_sink_that_fails_ends_the_run_at_that_event() {
    let total = 10;
    for place in 0..total {
        let ran = Counter::default();
        let model = script([
            call_reply([("c1", "add", r#"{"a": 1, "b": 2}"#), ("c2", "touch", "{}")]),
            text_reply("done"),
        ]);
        let sink = Arc::new(Sink { fails_at: Some(place), ..Sink::default() });
        let offers = [add(), touch(&ran).with_permission(hotcell_core::policy::Permission::Allow)];
        let result = harness(model, offers).run(request("go").sink(Arc::clone(&sink) as _)).await.unwrap();
        assert_eq!(
            (result.status, result.stop.clone()),
            (RunStatus::Failed, StopReason::Error),
            "event {place}"
        );
        assert_eq!(result.error.as_ref().unwrap().kind, ErrorKind::EventSink);
        assert_eq!(sink.names().len(), place, "a sink that failed gets no more events");
        assert_eq!(names(&result).last().unwrap(), "run_finished failed");
        // The second tool starts with event 5; told before it runs, it does not run when telling fails.
        let started = names(&result).iter().position(|name| name == "tool_started run:0:2 touch");
        assert_eq!(ran.get(), usize::from(started.is_some_and(|started| started < place)), "event {place}");
        if let Some(second) = result.calls.get(1) {
            let expected = if ran.get() == 0 { EntryStatus::Skipped } else { EntryStatus::Completed };
            assert_eq!(second.status, expected, "event {place}");
        }
        let answers = results(&result).len();
        assert!(answers == 0 || answers == 2, "every call of a batch is answered");
    }
}

/// P-16.
#[tokio::test]
async fn an_approver_that_fails_ends_the_run() {
    let ran = Counter::default();
    let model = script([call_reply([("c1", "touch", "{}"), ("c2", "add", "{}")])]);
    let approver = Approves(Duration::ZERO, Err(ApproverError("no terminal".into())));
    let result =
        harness(model, [touch(&ran), add()]).run(request("go").approver(Arc::new(approver))).await.unwrap();
    assert_eq!(result.error.as_ref().unwrap().kind, ErrorKind::Approval);
    assert_eq!((ran.get(), results(&result).len()), (0, 2));
    assert_eq!(results(&result)[1], "not run: the run failed before this call");
}

/// P-15, H-54.
#[tokio::test]
async fn a_model_error_ends_the_run_with_the_whole_transcript_and_its_source() {
    let error = ModelError::Provider { message: "down".into(), status: Some(503) };
    let replies = [Ok(call_reply([("c1", "add", r#"{"a": 1, "b": 2}"#)])), Err(error.clone())];
    let result = harness(Arc::new(ScriptedModel::new(replies)), [add()]).run(request("go")).await.unwrap();
    assert_eq!((result.outcome(), result.transcript.len()), ("failed", 3));
    let failed = result.clone().into_result().unwrap_err();
    assert!(matches!(failed, RunError::Failed { .. }));
    let info = failed.source().unwrap();
    assert_eq!(info.to_string(), "provider: provider failed: down");
    assert_eq!(info.source().unwrap().downcast_ref(), Some(&error));
    assert_eq!(failed.into_run_result(), result);
}

struct Panics;

impl Model for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        panic!("model")
    }
}

impl Approver for Panics {
    fn decide(&self, _request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>> {
        Box::pin(async { panic!("approver") })
    }
}

impl EventSink for Panics {
    fn send(&self, _event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>> {
        Box::pin(async { panic!("sink") })
    }
}

/// P-16, P-17.
#[tokio::test]
async fn a_panic_of_model_approver_or_sink_ends_the_run_and_nothing_else() {
    let ran = Counter::default();
    let result = harness(Arc::new(Panics), []).run(request("go")).await.unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::Provider);
    let model = || script([call_reply([("c1", "touch", "{}")])]);
    let result = harness(model(), [touch(&ran)]).run(request("go").approver(Arc::new(Panics))).await.unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::Approval);
    let result = harness(model(), [touch(&ran)]).run(request("go").sink(Arc::new(Panics))).await.unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::EventSink);
    assert_eq!(ran.get(), 0);
}

/// P-07.
#[tokio::test]
async fn a_run_that_cannot_start_is_an_error_and_asks_no_model() {
    let model = script([text_reply("never")]);
    let bad = request("go").output_schema(serde_json::json!({"type": "number", "$ref": "http://localhost/"}));
    let error = harness(Arc::clone(&model) as _, []).run(bad).await.unwrap_err();
    assert!(error.to_string().starts_with("output schema: at `/$ref`"), "{error}");
    let config = HarnessConfig { temperature: Some(99.0), ..HarnessConfig::default() };
    let harness = harness(Arc::clone(&model) as _, []).with_config(config);
    let error = harness.run(request("go")).await.unwrap_err();
    assert_eq!(error.to_string(), "temperature: found 99, expected 0 to 2 (a finite number)");
    assert!(model.requests().is_empty());
}

//! What middlewares may change, and what becomes of runs whose middlewares fail.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use hotcell_core::call::CallReport;
use hotcell_core::content::Block;
use hotcell_core::limits::Limits;
use hotcell_core::message::{Message, ToolCall};
use hotcell_core::middleware::{Middleware, MiddlewareError, Stage};
use hotcell_core::model::{ModelReply, ModelRequest, ReplyStop, ToolChoice};
use hotcell_core::outcome::Outcome;
use hotcell_core::tool::Hints;
use serde_json::json;

use super::support::{Approves, Counter, add, harness, names, request, results, script, touch};
use crate::harness::RunResult;
use crate::host_tool::HostTool;
use crate::scripted_model::{call_reply, text_reply};
use crate::status::ErrorKind;
use crate::tool_set::Offer;

/// What a middleware does at one stage.
type Work<T> = Box<dyn Fn(&mut T) -> Result<(), MiddlewareError> + Send + Sync>;

/// A middleware of closures, which notes the stages it was asked at; the default changes nothing.
#[derive(Default)]
pub(super) struct Layer {
    name: &'static str,
    seen: Arc<Mutex<Vec<String>>>,
    /// The stage at which it takes three seconds.
    slow_at: &'static str,
    request: Option<Work<ModelRequest>>,
    reply: Option<Work<ModelReply>>,
    call: Option<Work<ToolCall>>,
    report: Option<Work<CallReport>>,
}

impl Layer {
    /// One that changes nothing and takes three seconds at this stage.
    pub(super) fn slow_at(stage: &'static str) -> Self {
        Self { slow_at: stage, ..Self::default() }
    }

    async fn at<T>(&self, stage: &str, work: Option<&Work<T>>, of: &mut T) -> Result<(), MiddlewareError> {
        self.seen.lock().unwrap().push(format!("{} {stage}", self.name));
        if self.slow_at == stage {
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        work.map_or(Ok(()), |work| work(of))
    }
}

impl Middleware for Layer {
    fn name(&self) -> &str {
        self.name
    }

    fn before_model<'a>(
        &'a self,
        _stage: &'a Stage,
        request: &'a mut ModelRequest,
    ) -> BoxFuture<'a, Result<(), MiddlewareError>> {
        Box::pin(self.at("before_model", self.request.as_ref(), request))
    }

    fn after_model<'a>(
        &'a self,
        _stage: &'a Stage,
        reply: &'a mut ModelReply,
    ) -> BoxFuture<'a, Result<(), MiddlewareError>> {
        Box::pin(self.at("after_model", self.reply.as_ref(), reply))
    }

    fn before_tool<'a>(
        &'a self,
        stage: &'a Stage,
        call: &'a mut ToolCall,
    ) -> BoxFuture<'a, Result<(), MiddlewareError>> {
        assert!(stage.call.is_some(), "a stage of a call says which");
        Box::pin(self.at("before_tool", self.call.as_ref(), call))
    }

    fn after_tool<'a>(
        &'a self,
        _stage: &'a Stage,
        report: &'a mut CallReport,
    ) -> BoxFuture<'a, Result<(), MiddlewareError>> {
        Box::pin(self.at("after_tool", self.report.as_ref(), report))
    }
}

fn one_call() -> ModelReply {
    call_reply([("c1", "add", r#"{"a": 2, "b": 3}"#)])
}

/// A run of one call of `add` and an answer, through this layer.
async fn through(layer: Layer) -> RunResult {
    let model = script([one_call(), text_reply("five")]);
    harness(model, [add()]).with_middleware(Arc::new(layer)).run(request("go")).await.unwrap()
}

/// H-36.
#[tokio::test]
async fn middlewares_are_asked_in_order_on_the_way_in_and_in_reverse_on_the_way_out() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let layer = |name| Arc::new(Layer { name, seen: Arc::clone(&seen), ..Layer::default() });
    let model = script([one_call(), text_reply("five")]);
    let harness = harness(model, [add()]).with_middleware(layer("outer")).with_middleware(layer("inner"));
    let result = harness.run(request("go")).await.unwrap().into_result().unwrap();
    assert_eq!(result.output.as_deref(), Some("five"));
    let turn = ["outer before_model", "inner before_model", "inner after_model", "outer after_model"];
    let call = ["outer before_tool", "inner before_tool", "inner after_tool", "outer after_tool"];
    assert_eq!(*seen.lock().unwrap(), [&turn[..], &call, &turn].concat());
}

#[tokio::test]
async fn each_stage_changes_what_it_has_before_it_and_the_transcript_keeps_what_was_said() {
    let model = script([one_call(), text_reply("five")]);
    let layer = Layer {
        request: Some(Box::new(|request| {
            request.transcript.push(Message::user("be brief"));
            request.temperature = Some(0.5);
            Ok(())
        })),
        reply: Some(Box::new(|reply| {
            reply.text = reply.text.take().map(|text| text.to_uppercase());
            Ok(())
        })),
        call: Some(Box::new(|call| {
            r#"{"a": 20, "b": 3}"#.clone_into(&mut call.arguments);
            Ok(())
        })),
        report: Some(Box::new(|report| {
            report.content = vec![Block::text("seen")];
            report.structured = None;
            Ok(())
        })),
        ..Layer::default()
    };
    let harness = harness(Arc::clone(&model) as _, [add()]).with_middleware(Arc::new(layer));
    let result = harness.run(request("go")).await.unwrap().into_result().unwrap();
    assert_eq!(result.output.as_deref(), Some("FIVE"));
    assert_eq!(results(&result), ["seen"]);
    let requests = model.requests();
    let sent = requests[0].transcript.messages();
    assert_eq!(sent.len(), 1, "neighbours of one role are joined in what is sent");
    assert_eq!(requests[0].temperature, Some(0.5));
    let stored = result.transcript.messages();
    assert_eq!(stored[0].as_ref(), &Message::user("go"), "what is sent changes nothing that is kept");
    let Message::Assistant { calls, .. } = stored[1].as_ref() else { panic!("{stored:?}") };
    assert_eq!(calls[0].arguments, r#"{"a": 2, "b": 3}"#, "the transcript keeps the model's own call");
}

#[tokio::test]
async fn a_call_that_was_changed_is_checked_and_approved_as_it_is_now() {
    let ran = Counter::default();
    let rename = |call: &mut ToolCall| {
        "touch".clone_into(&mut call.name);
        "{}".clone_into(&mut call.arguments);
        Ok(())
    };
    for (consents, runs) in [(true, 1), (false, 0)] {
        let layer = Layer { call: Some(Box::new(rename)), ..Layer::default() };
        let decision = if consents {
            hotcell_core::approval::Decision::Approve
        } else {
            hotcell_core::approval::Decision::Deny("no".into())
        };
        let model = script([one_call(), text_reply("done")]);
        let harness = harness(model, [add(), touch(&ran)]).with_middleware(Arc::new(layer));
        let approver = Arc::new(Approves(Duration::ZERO, Ok(decision)));
        let before = ran.get();
        let result = harness.run(request("go").approver(approver)).await.unwrap();
        assert_eq!(ran.get() - before, runs);
        assert!(names(&result).iter().any(|name| name.starts_with("approval_required")), "it asks like any");
    }
    let misfit = |call: &mut ToolCall| {
        "[]".clone_into(&mut call.arguments);
        Ok(())
    };
    let result = through(Layer { call: Some(Box::new(misfit)), ..Layer::default() }).await;
    assert_eq!(result.calls[0].report.as_ref().unwrap().outcome, Outcome::InvalidArgs);
}

fn work<T>(of: impl Fn(&mut T) + Send + Sync + 'static) -> Option<Work<T>> {
    Some(Box::new(move |it| {
        of(it);
        Ok(())
    }))
}

fn fails<T>() -> Option<Work<T>> {
    Some(Box::new(|_| Err(MiddlewareError("disk\u{1b}[2J full".into()))))
}

/// Layers that are at fault, what is said of them, and how many calls the run has had then.
fn faulty() -> Vec<(Layer, &'static str, usize)> {
    const FULL: &str = "disk\\u{1b}[2J full";
    const TOOLS: &str = "it changed the tools of a request, or whether they may be called";
    let adds_a_call = |it: &mut ModelRequest| {
        let ModelReply { calls, text, .. } = one_call();
        it.transcript.push(Message::Assistant { text, calls });
    };
    let renames = |it: &mut ModelReply| {
        for call in &mut it.calls {
            "new".clone_into(&mut call.id);
        }
    };
    let layer = Layer::default;
    vec![
        (Layer { request: fails(), ..layer() }, FULL, 0),
        (Layer { reply: fails(), ..layer() }, FULL, 0),
        (Layer { call: fails(), ..layer() }, FULL, 1),
        (Layer { report: fails(), ..layer() }, FULL, 1),
        (Layer { call: work(|_| panic!("oh")), ..layer() }, "it panicked", 1),
        (Layer { request: work(|it: &mut ModelRequest| it.tools = Arc::new([])), ..layer() }, TOOLS, 0),
        (
            Layer { request: work(|it: &mut ModelRequest| it.tool_choice = ToolChoice::Required), ..layer() },
            TOOLS,
            0,
        ),
        (Layer { request: work(adds_a_call), ..layer() }, "it put a call with the id `c1` into a request", 0),
        (
            Layer { reply: work(renames), ..layer() },
            "it put a call with the id `new` into a reply, or moved it",
            0,
        ),
        (
            Layer { reply: work(|it: &mut ModelReply| it.stop = ReplyStop::Refusal), ..layer() },
            "it changed why a reply ended or what it used",
            0,
        ),
        (
            Layer { call: work(|it: &mut ToolCall| it.id = "new".into()), ..layer() },
            "it changed the id of a call",
            1,
        ),
        (
            Layer { report: work(|it: &mut CallReport| it.outcome = Outcome::Denied), ..layer() },
            "it changed how a call ended or what it used",
            1,
        ),
    ]
}

/// H-54.
#[tokio::test]
async fn a_middleware_that_fails_or_breaks_its_rules_ends_the_run_with_its_name() {
    for (layer, message, calls) in faulty() {
        let result = through(Layer { name: "guard", ..layer }).await;
        let error = result.error.clone().unwrap();
        let expected = format!("middleware `guard`: {message}");
        assert_eq!((error.kind, error.message), (ErrorKind::Middleware, expected));
        assert_eq!(result.calls.len(), calls, "{message}");
        assert_eq!(results(&result).len(), calls, "each call has its result: {message}");
        let last = names(&result).pop();
        assert_eq!(last.as_deref(), Some("run_finished failed"));
    }
}

/// What a middleware had not finished with is not shown: it may have been about to take it out.
#[tokio::test(start_paused = true)]
async fn a_result_a_middleware_never_finished_with_is_withheld() {
    let layer = Layer::slow_at("after_tool");
    let limits = Limits { max_time: Some(Duration::from_millis(500)), ..Limits::default() };
    let model = script([one_call(), text_reply("five")]);
    let harness = harness(model, [add()]).with_middleware(Arc::new(layer));
    let result = harness.run(request("go").limits(limits)).await.unwrap();
    assert_eq!(result.outcome(), "timeout");
    assert_eq!(
        results(&result),
        ["The tool ran; the run ended before its result was finished, so it is not shown."]
    );
    let report = result.calls[0].report.clone().unwrap();
    assert_eq!((report.outcome, report.structured.clone()), (Outcome::Ok, None));
    assert!(!serde_json::to_string(&result.transcript).unwrap().contains(&json!({"sum": 5}).to_string()));
}

#[tokio::test]
async fn a_middleware_may_leave_calls_out_and_the_rest_runs() {
    let both = call_reply([("c1", "add", r#"{"a": 1, "b": 1}"#), ("c2", "add", r#"{"a": 2, "b": 2}"#)]);
    let layer = Layer {
        reply: Some(Box::new(|reply| {
            reply.calls.retain(|call| call.id != "c1");
            Ok(())
        })),
        ..Layer::default()
    };
    let harness = harness(script([both, text_reply("four")]), [add()]).with_middleware(Arc::new(layer));
    let result = harness.run(request("go")).await.unwrap().into_result().unwrap();
    assert_eq!(results(&result), [r#"{"sum":4}"#]);
}

/// H-23.
///
/// A middleware sees the result of a call once; a call that repeats it gets what the middleware made of it.
#[tokio::test]
async fn a_call_that_repeats_an_earlier_one_gets_what_the_middleware_made_of_it() {
    let (seen, ran) = (Arc::new(Mutex::new(Vec::new())), Counter::default());
    let counts = ran.clone();
    let pure = Hints { read_only: Some(true), idempotent: Some(true), ..Hints::default() };
    let tool = HostTool::define("look", "").unwrap().pure().hints(pure).handler(move |_| {
        counts.add();
        async { "raw" }
    });
    let layer = Layer {
        name: "layer",
        seen: Arc::clone(&seen),
        report: Some(Box::new(|report| {
            report.content = vec![Block::text("made of it")];
            Ok(())
        })),
        ..Layer::default()
    };
    let model = script([call_reply([("c1", "look", "{}"), ("c2", "look", "{}")]), text_reply("done")]);
    let limits = Limits { dedupe_calls: true, ..Limits::default() };
    let harness = harness(model, [Offer::new(tool, "line")]).with_middleware(Arc::new(layer));
    let result = harness.run(request("go").limits(limits)).await.unwrap();
    assert_eq!((results(&result), ran.get()), (vec!["made of it".to_owned(); 2], 1));
    let after = seen.lock().unwrap().iter().filter(|stage| stage.ends_with("after_tool")).count();
    assert_eq!((after, result.calls[1].cached), (1, true));
}

use std::sync::Arc;

use hotcell_agent::scripted_model::{call_reply, text_reply};
use hotcell_agent::{HostTool, Offer, ScriptedModel};
use hotcell_core::outcome::Outcome;
use serde_json::{Value, json};

use super::*;

fn add() -> HostTool {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "required": ["a", "b"],
        "additionalProperties": false
    });
    HostTool::define("add", "Add two numbers.").unwrap().input_schema(schema).pure().handler(
        |arguments: Value| async move {
            let number = |name: &str| arguments[name].as_i64().unwrap_or_default();
            json!(number("a") + number("b"))
        },
    )
}

/// H-37.
#[tokio::test]
async fn the_conversation_goes_on_from_run_to_run() {
    let model = Arc::new(ScriptedModel::new([
        Ok(call_reply([("c1", "add", r#"{"a": 17, "b": 25}"#)])),
        Ok(text_reply("42")),
        Ok(text_reply("still 42")),
    ]));
    let shared: Arc<dyn Model> = Arc::clone(&model) as _;
    let agent = Agent::builder_shared(shared).system("Be exact.").tools(add()).build().unwrap();
    let first = agent.run("What is 17 + 25?").await.unwrap().into_result().unwrap();
    assert_eq!(first.output.as_deref(), Some("42"));
    assert_eq!(first.calls[0].report.as_ref().unwrap().outcome, Outcome::Ok);
    let second = agent.run("Are you sure?").await.unwrap();
    assert_ne!(first.run, second.run);
    // System, question, call, result, answer; then the second question as the model saw it.
    assert_eq!(model.requests()[2].transcript.len(), 6);
    assert_eq!(agent.conversation().len(), 7);
}

#[tokio::test]
async fn a_second_run_at_the_same_time_is_refused() {
    let model = ScriptedModel::new([Ok(call_reply([("c1", "wait", "{}")])), Ok(text_reply("done"))]);
    let (begun, wait_for_begin) = tokio::sync::oneshot::channel();
    let begun = Mutex::new(Some(begun));
    let wait = HostTool::define("wait", "Waits.").unwrap().pure().handler(move |_| {
        if let Some(begun) = begun.lock().unwrap().take() {
            begun.send(()).unwrap();
        }
        std::future::pending::<String>()
    });
    let agent = Arc::new(Agent::builder(model).tools(wait).build().unwrap());
    let of_task = Arc::clone(&agent);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { of_task.run("go").await });
    wait_for_begin.await.unwrap();
    assert!(matches!(agent.run("me too").await, Err(AgentError::Busy)));
    tasks.shutdown().await;
    // The run was dropped: the agent is free and remembers nothing of it.
    assert!(agent.conversation().is_empty());
    assert!(!matches!(agent.run("now?").await, Err(AgentError::Busy)));
}

#[tokio::test]
async fn two_tools_of_one_name_do_not_build() {
    let model = ScriptedModel::new([]);
    let tools = vec![Offer::new(add(), ""), Offer::new(add(), "")];
    assert!(matches!(Agent::builder(model).tools(tools).build(), Err(AgentError::Tools(_))));
}

/// A model of one text that counts how often it was closed.
struct Closes(Arc<std::sync::atomic::AtomicUsize>);

impl Model for Closes {
    fn name(&self) -> &str {
        "closes"
    }

    fn stream(
        &self,
        _request: hotcell_core::model::ModelRequest,
    ) -> futures::stream::BoxStream<'_, Result<hotcell_core::model::ModelEvent, ModelError>> {
        let reply = hotcell_core::model::ModelEvent::Reply(text_reply("hello"));
        Box::pin(futures::stream::once(std::future::ready(Ok(reply))))
    }

    fn close(&self) -> futures::future::BoxFuture<'_, Result<(), ModelError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// H-47, H-48.
#[tokio::test]
async fn closing_closes_the_agents_own_model_once_and_refuses_later_runs() {
    let closed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for (own, times) in [(true, 1), (false, 0)] {
        closed.store(0, Ordering::SeqCst);
        let model = Closes(Arc::clone(&closed));
        let builder = if own { Agent::builder(model) } else { Agent::builder_shared(Arc::new(model)) };
        let agent = builder.build().unwrap();
        assert!(agent.run("hi").await.unwrap().ok());
        assert!(!agent.is_closed() && !agent.busy());
        agent.close().await.unwrap();
        agent.close().await.unwrap();
        assert!(agent.is_closed());
        assert_eq!(closed.load(Ordering::SeqCst), times);
        assert!(matches!(agent.run("again").await, Err(AgentError::Closed)));
        assert_eq!(agent.conversation().len(), 2, "the conversation stays");
    }
}

/// H-47.
#[tokio::test]
async fn closing_cancels_a_run_in_progress_whose_result_still_arrives() {
    let model = ScriptedModel::new([Ok(call_reply([("c1", "wait", "{}")])), Ok(text_reply("done"))]);
    let wait =
        HostTool::define("wait", "Waits.").unwrap().pure().handler(|_| std::future::pending::<String>());
    let agent = Agent::builder(model).tools(wait).build().unwrap();
    let closing = async {
        while !agent.busy() {
            tokio::task::yield_now().await;
        }
        agent.close().await
    };
    let (result, closed) = tokio::join!(agent.run("go"), closing);
    closed.unwrap();
    assert_eq!(result.unwrap().outcome(), "cancelled");
    assert!(!agent.busy());
}

/// P-61.
#[test]
fn a_run_can_be_started_from_code_that_is_not_async_and_not_from_code_that_is() {
    let model = ScriptedModel::new([Ok(text_reply("one")), Ok(text_reply("two"))]);
    let agent = Agent::builder(model).build().unwrap();
    assert_eq!(agent.run_blocking("first").unwrap().output.as_deref(), Some("one"));
    assert_eq!(agent.run_blocking("second").unwrap().output.as_deref(), Some("two"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move {
        assert!(matches!(agent.run_blocking("third"), Err(AgentError::Blocking)));
        // Dropped inside of a runtime, with a runtime of its own.
        drop(agent);
    });
}

/// H-61.
#[tokio::test]
async fn counters_of_a_run_and_of_the_conversation_are_apart() {
    let call = |a: u32| Ok(call_reply([("c1", "add", format!(r#"{{"a": {a}, "b": 1}}"#).as_str())]));
    let done = || Ok(text_reply("done"));
    let model = ScriptedModel::new([call(1), call(2), done(), call(3), call(4), done()]);
    let agent = Agent::builder(model).tools(add()).build().unwrap();
    for run in 1..=2 {
        let result = agent.run("go").await.unwrap();
        assert_eq!((result.turns, result.tool_calls), (3, 2));
        let totals = agent.totals();
        assert_eq!((totals.runs, totals.turns, totals.tool_calls), (run, 3 * run, 2 * run));
    }
}

/// H-07.
#[tokio::test]
async fn what_an_agent_was_made_of_may_change_and_the_agent_does_not() {
    let mut config = HarnessConfig { system: Some("Be exact.".into()), ..HarnessConfig::default() };
    let mut limits = Limits { max_turns: std::num::NonZeroU32::new(1), ..Limits::strict() };
    let model = Arc::new(ScriptedModel::new([Ok(call_reply([("c1", "add", r#"{"a": 1, "b": 1}"#)]))]));
    let shared: Arc<dyn Model> = Arc::clone(&model) as _;
    let agent = Agent::builder_shared(shared)
        .config(config.clone())
        .limits(limits.clone())
        .tools(add())
        .build()
        .unwrap();
    config.system = Some("Be wrong.".into());
    limits.max_turns = None;
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.outcome(), "max_steps", "{config:?} and {limits:?} are no part of the agent");
    let first = model.requests()[0].transcript.get(0).unwrap();
    assert_eq!(first.as_ref(), &hotcell_core::message::Message::System { text: "Be exact.".into() });
}

/// H-35.
#[test]
fn everything_that_is_wrong_with_an_agent_is_told_together() {
    let config = HarnessConfig {
        max_output_tokens: Some(0),
        temperature: Some(f64::NAN),
        concurrent_calls: std::num::NonZeroUsize::MAX,
        ..HarnessConfig::default()
    };
    let limits = Limits { max_time: Some(std::time::Duration::ZERO), ..Limits::default() };
    let builder = Agent::builder(ScriptedModel::new([])).config(config).limits(limits);
    let Err(AgentError::Config(errors)) = builder.build() else { panic!("it was built") };
    let paths: Vec<_> = errors.violations().iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(paths, ["max_output_tokens", "temperature", "concurrent_calls", "limits.max_time"]);
    assert!(errors.to_string().contains("temperature: found NaN, expected 0 to 2 (a finite number)"));
}

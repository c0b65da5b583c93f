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

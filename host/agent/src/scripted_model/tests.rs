use std::sync::Arc;

use futures::StreamExt as _;
use hotcell_core::content::Block;
use hotcell_core::message::{Message, ToolCall, Transcript};
use hotcell_core::model::{Model as _, ModelError, ModelEvent, ModelRequest, ToolChoice};
use hotcell_core::outcome::Outcome;

use super::{ScriptedModel, text_reply};

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        transcript: messages.into_iter().collect(),
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        temperature: None,
    }
}

async fn ask(model: &ScriptedModel, messages: Vec<Message>) -> Result<String, String> {
    match model.stream(request(messages)).next().await {
        Some(Ok(ModelEvent::Reply(reply))) => Ok(reply.text.unwrap_or_default()),
        Some(Err(ModelError::Script { message })) => Err(message),
        other => panic!("{other:?}"),
    }
}

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall { id: (*id).into(), name: "a".into(), arguments: String::new() };
    Message::Assistant { text: None, calls: ids.iter().map(call).collect() }
}

fn result(id: &str, text: &str) -> Message {
    let content = vec![Block::text(text)];
    Message::Tool { call_id: id.into(), name: "a".into(), outcome: Some(Outcome::Ok), content }
}

/// P-64.
#[tokio::test]
async fn replies_come_once_in_order_and_requests_are_kept() {
    let model = ScriptedModel::new([Ok(text_reply("one")), Ok(text_reply("two"))]);
    assert_eq!(ask(&model, vec![Message::user("a")]).await.unwrap(), "one");
    assert_eq!(ask(&model, vec![Message::user("b")]).await.unwrap(), "two");
    assert_eq!(ask(&model, vec![]).await.unwrap_err(), "no reply is left for request 3");
    let kept: Vec<Transcript> = model.requests().into_iter().map(|request| request.transcript).collect();
    assert_eq!(kept[1], [Message::user("b")].into_iter().collect());
    assert_eq!((kept.len(), model.replies_left()), (3, 0));
}

#[tokio::test]
async fn requests_that_break_the_rules_fail_the_run() {
    let system = || Message::System { text: "s".into() };
    for (messages, error) in [
        (vec![Message::user("a"), calls(&["x"])], "call `x` has no answer"),
        (
            vec![calls(&["x", "y"]), result("y", ""), result("x", "")],
            "message 1 answers call `y`, expected Some(\"x\")",
        ),
        (vec![calls(&["x"]), result("x", ""), result("x", "")], "message 2 answers call `x`, expected None"),
        (
            vec![calls(&["x"]), Message::user("a"), result("x", "")],
            "message 1 comes before the answer to call `x`",
        ),
        (vec![system(), Message::user("a"), system()], "message 2 is a second system message"),
        (vec![calls(&["x"]), result("x", &"y".repeat(165))], "message 1 has 165 characters, the cap is 100"),
        (vec![Message::user("the key is hunter2")], "message 0 holds a forbidden text"),
    ] {
        let model = ScriptedModel::new([Ok(text_reply("one"))]).max_result_chars(100).forbid("hunter2");
        assert_eq!(ask(&model, messages).await.unwrap_err(), format!("request 1: {error}"));
    }
    let model = ScriptedModel::new([Ok(text_reply("one"))]);
    let good = vec![system(), Message::user("a"), calls(&["x", "y"]), result("x", ""), result("y", "")];
    assert_eq!(ask(&model, good).await.unwrap(), "one");
}

use futures::StreamExt as _;
use hotcell_core::content::Block;
use hotcell_core::ids::ToolName;
use hotcell_core::message::{Message, ToolCall, Transcript};
use hotcell_core::model::{ReplyStop, TokenUsage, ToolChoice};
use hotcell_core::outcome::Outcome;
use hotcell_core::tool::{Definition, Hints};
use serde_json::{Value, json};

use self::server::{Answer, Server};
use super::*;

mod failures;
mod media;
mod replies;
mod requests;
mod secrets;
mod server;

/// A key that occurs nowhere by accident.
const KEY: &str = "sk-canary-7f3a91c2e5";

fn settings(base_url: &str) -> OpenAiSettings {
    OpenAiSettings {
        base_url: base_url.into(),
        api_key: Some(SecretString::from(KEY)),
        timeout: server::PATIENCE,
        ..OpenAiSettings::new("gpt-4.1")
    }
}

fn tool(name: &str) -> Definition {
    Definition {
        name: ToolName::parse(name).unwrap(),
        title: None,
        description: format!("Does {name}."),
        input_schema: json!({"type": "object", "properties": {"q": {"type": "string"}}}),
        output_schema: None,
        hints: Hints::default(),
        timeout_ms: None,
        examples: Vec::new(),
    }
}

fn request(messages: impl IntoIterator<Item = Message>, tools: &[Definition]) -> ModelRequest {
    ModelRequest {
        transcript: messages.into_iter().collect::<Transcript>(),
        tools: tools.into(),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        temperature: None,
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

/// Asks once and checks that the stream ends after one event.
async fn ask(settings: OpenAiSettings, request: ModelRequest) -> Result<ModelReply, ModelError> {
    let model = OpenAiChat::new(settings).unwrap();
    let events: Vec<_> = model.stream(request).collect().await;
    assert_eq!(events.len(), 1);
    events.into_iter().next().unwrap().map(|event| match event {
        ModelEvent::Reply(reply) => reply,
        other => panic!("{other:?}"),
    })
}

/// The reply to a server's JSON.
async fn reply_to(body: Value) -> Result<ModelReply, ModelError> {
    let server = Server::json(&body);
    ask(settings(&server.base_url), request([Message::user("hi")], &[])).await
}

/// A reply with one message.
#[expect(clippy::needless_pass_by_value, reason = "the callers write both in place")]
fn chat(message: Value, finish: Value) -> Value {
    json!({
        "id": "c1", "object": "chat.completion", "model": "gpt-4.1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    })
}

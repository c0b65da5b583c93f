//! From our words to the body of a request.

use hotcell_core::content::Block;
use hotcell_core::message::Message;
use hotcell_core::model::{ModelError, ModelRequest, ToolChoice};
use hotcell_core::outcome::Outcome;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message as rig;
use rig_core::providers::openai::wire::Chat;
use rig_core::wire::{Body, Mode, Wire as _};

/// A request that is ready to be sent, but for its headers.
pub(super) struct Encoded {
    pub(super) url: String,
    pub(super) body: Vec<u8>,
}

/// Writes the request. The tools are declared also when none may be called: a server that sees calls in the
/// history and no tools refuses the request or reads the calls as text.
pub(super) fn encode(wire: &Chat, request: &ModelRequest) -> Result<Encoded, ModelError> {
    let failed = |message: String| ModelError::Provider {
        message: format!("the request cannot be written: {message}"),
        status: None,
    };
    // The constructor wants a prompt; the history takes its place.
    let mut completion = CompletionRequest::new(rig::Message::user(""));
    completion.chat_history = request.transcript.messages().iter().filter_map(|said| message(said)).collect();
    completion.tools = request
        .tools
        .iter()
        .map(|tool| {
            ToolDefinition::new(tool_name(tool.name.as_str()), &tool.description, tool.input_schema.clone())
        })
        .collect();
    completion.tool_choice = match request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(rig::ToolChoice::None),
    };
    completion.max_tokens = request.max_output_tokens.map(u64::from);
    completion.temperature = request.temperature;
    let encoded = wire.encode(completion, Mode::Unary).map_err(|error| failed(error.to_string()))?;
    let url = encoded.request.uri().to_string();
    match encoded.request.into_body() {
        Body::Bytes(body) => Ok(Encoded { url, body }),
        Body::Multipart(_) => Err(failed("a form came out where JSON was expected".into())),
    }
}

fn message(message: &Message) -> Option<rig::Message> {
    match message {
        Message::System { text } => Some(rig::Message::system(text)),
        Message::User { content } => {
            let parts = content.iter().map(|block| rig::UserContent::text(block.to_text()));
            Some(rig::Message::User { content: parts.collect() })
        }
        Message::Assistant { text, calls } => {
            let text = text.iter().filter(|text| !text.is_empty()).map(rig::AssistantContent::text);
            let calls = calls.iter().map(|call| {
                let function = rig::ToolFunction::parse(tool_name(&call.name), &call.arguments);
                rig::AssistantContent::ToolCall(rig::ToolCall::from_wire(&call.id, function))
            });
            Some(rig::Message::Assistant(rig::AssistantMessage::new(text.chain(calls).collect())))
        }
        Message::Tool { call_id, name, outcome, content } => {
            Some(rig::Message::tool_results(vec![rig::ToolResult {
                call: rig::CallId::from_wire(call_id),
                name: tool_name(name),
                content: vec![rig::ToolResultContent::text(result_text(*outcome, content))],
                is_error: *outcome != Some(Outcome::Ok),
            }]))
        }
        _ => None,
    }
}

fn tool_name(name: &str) -> rig::ToolName {
    let known = if name.is_empty() { "unnamed" } else { name };
    rig::ToolName::new(known).expect("the name is not empty, the only thing that is refused")
}

/// What the model reads of a result: its texts, or everything else where there is no text.
///
/// The protocol has no flag for a failure, so the text has to say it.
fn result_text(outcome: Option<Outcome>, content: &[Block]) -> String {
    let is_text = |block: &&Block| matches!(block, Block::Text { .. });
    let has_text = content.iter().any(|block| is_text(&block));
    let texts = content.iter().filter(|block| !has_text || is_text(block)).map(Block::to_text);
    let text = texts.collect::<Vec<_>>().join("\n");
    match outcome {
        Some(Outcome::Ok) => text,
        _ if text.starts_with("error") => text,
        Some(outcome) => format!("error: {outcome}\n{text}"),
        None => format!("error: the tool did not run\n{text}"),
    }
}

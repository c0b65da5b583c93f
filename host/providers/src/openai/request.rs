//! From our words to the body of a request.

use hotcell_core::content::Block;
use hotcell_core::media::MediaType;
use hotcell_core::message::Message;
use hotcell_core::model::{ModelError, ModelRequest, ToolChoice};
use hotcell_core::outcome::Outcome;
use hotcell_core::text::{cap_chars, escape_control};
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
    let said = request.transcript.messages();
    let written: Result<Vec<_>, ModelError> =
        said.iter().filter_map(|said| message(said).transpose()).collect();
    completion.chat_history = written?;
    completion.tools = request
        .tools
        .iter()
        .map(|tool| {
            ToolDefinition::new(tool_name(tool.name.as_str()), &tool.description, tool.input_schema.clone())
        })
        .collect();
    completion.tool_choice = match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(rig::ToolChoice::Required),
        ToolChoice::Named(name) => {
            Some(rig::ToolChoice::Specific { function_names: vec![tool_name(name.as_str())] })
        }
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

fn message(message: &Message) -> Result<Option<rig::Message>, ModelError> {
    Ok(match message {
        Message::System { text } => Some(rig::Message::system(text)),
        Message::User { content } => {
            let parts = content.iter().map(user_part).collect::<Result<_, _>>()?;
            Some(rig::Message::User { content: parts })
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
    })
}

/// A part of what a person says. What the protocol cannot carry is an error before anything is sent: a model that
/// never saw an attachment would answer as if there were none.
fn user_part(block: &Block) -> Result<rig::UserContent, ModelError> {
    let unsendable = |what: &str| ModelError::Provider {
        message: format!(
            "nothing was sent: {what} cannot be sent to this provider; it takes images, PDF, and audio as WAV or MP3"
        ),
        status: None,
    };
    let media = match block {
        Block::Media { media } => media,
        Block::Blob { media_type, .. } => {
            return Err(unsendable(&escape_control(&cap_chars(media_type, 100))));
        }
        other => return Ok(rig::UserContent::text(other.to_text())),
    };
    let data = rig::DocumentSourceKind::Base64(media.to_base64());
    let image = |media_type| {
        let image = rig::Image { data: data.clone(), media_type: Some(media_type), ..rig::Image::default() };
        Ok(rig::UserContent::Image(image))
    };
    let audio = |media_type| {
        Ok(rig::UserContent::Audio(rig::Audio { data: data.clone(), media_type: Some(media_type) }))
    };
    match media.media_type() {
        MediaType::Png => image(rig::ImageMediaType::PNG),
        MediaType::Jpeg => image(rig::ImageMediaType::JPEG),
        MediaType::Gif => image(rig::ImageMediaType::GIF),
        MediaType::Webp => image(rig::ImageMediaType::WEBP),
        MediaType::Pdf => Ok(rig::UserContent::Document(rig::Document {
            data: data.clone(),
            media_type: Some(rig::DocumentMediaType::PDF),
            additional_params: None,
        })),
        MediaType::Wav => audio(rig::AudioMediaType::WAV),
        MediaType::Mp3 => audio(rig::AudioMediaType::MP3),
        other => Err(unsendable(other.as_str())),
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

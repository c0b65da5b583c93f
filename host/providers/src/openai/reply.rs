//! From the provider's own JSON to our reply.

use std::collections::BTreeSet;

use hotcell_core::message::ToolCall;
use hotcell_core::model::{ModelError, ModelReply, ReplyStop, TokenUsage};
use hotcell_core::text::{cap_chars, escape_control};
use serde_json::Value;

/// Longest piece of a reply that an error quotes, in characters.
const MAX_QUOTE_CHARS: usize = 500;

/// Reads a whole reply; `turn` is its number in the conversation, from 1, and makes missing call ids unique.
pub(super) fn decode(body: &[u8], turn: usize) -> Result<ModelReply, ModelError> {
    let json: Value = serde_json::from_slice(body).map_err(|error| {
        let start = String::from_utf8_lossy(body.get(..2_000).unwrap_or(body));
        malformed(format!("expected JSON, found `{}` ({error})", quote(&start)))
    })?;
    let choice = json.get("choices").and_then(Value::as_array).and_then(|choices| choices.first());
    let Some(choice) = choice else {
        return Err(match error_message(&json) {
            // Some gateways report a failure with a status that says success.
            Some(message) => ModelError::Provider { message: quote(&message), status: Some(200) },
            None => {
                malformed(format!("expected `choices` with a message, found `{}`", quote(&json.to_string())))
            }
        });
    };
    let message = choice.get("message").filter(|message| message.is_object()).ok_or_else(|| {
        malformed(format!("expected `choices[0].message`, found `{}`", quote(&choice.to_string())))
    })?;
    match message.get("role") {
        None | Some(Value::Null) => {}
        Some(Value::String(role)) if role == "assistant" => {}
        Some(role) => {
            let role = quote(&role.to_string());
            return Err(malformed(format!("expected a message of the assistant, found role `{role}`")));
        }
    }
    let refusal = refusal(message);
    let stop = match refusal {
        Some(_) => ReplyStop::Refusal,
        None => stop(choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default()),
    };
    Ok(ModelReply {
        text: refusal.or_else(|| text(message.get("content"), "text")),
        calls: calls(message, turn)?,
        stop,
        usage: usage(&json),
    })
}

/// What the provider says of a failure, when the body says it in a way that is known.
pub(super) fn error_message(json: &Value) -> Option<String> {
    let error = json.get("error")?;
    let text = error.as_str().or_else(|| error.get("message").and_then(Value::as_str));
    Some(text.map_or_else(|| error.to_string(), ToOwned::to_owned)).filter(|_| !error.is_null())
}

/// A piece of a reply, short and without characters that steer a terminal.
pub(super) fn quote(text: &str) -> String {
    escape_control(&cap_chars(text.trim(), MAX_QUOTE_CHARS))
}

fn malformed(message: String) -> ModelError {
    ModelError::Malformed { message }
}

fn stop(reason: &str) -> ReplyStop {
    match reason {
        "" | "stop" => ReplyStop::EndTurn,
        "tool_calls" | "function_call" => ReplyStop::ToolUse,
        "length" => ReplyStop::MaxTokens,
        "content_filter" => ReplyStop::Safety,
        other => ReplyStop::Other(quote(other)),
    }
}

/// The refusal, which stands in a field of its own or in a part of the content.
fn refusal(message: &Value) -> Option<String> {
    let own = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty());
    let in_parts = || message.get("content").filter(|content| content.is_array()).cloned();
    own.map(ToOwned::to_owned).or_else(|| text(in_parts().as_ref(), "refusal"))
}

/// The text of a content: a string, or the parts of one kind. Empty is none.
fn text(content: Option<&Value>, kind: &str) -> Option<String> {
    let text = match content? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter(|part| part.get("type").and_then(Value::as_str) == Some(kind))
            .filter_map(|part| part.get(kind).and_then(Value::as_str))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

fn calls(message: &Value, turn: usize) -> Result<Vec<ToolCall>, ModelError> {
    let listed = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let given: BTreeSet<_> =
        listed.iter().filter_map(|call| call.get("id").and_then(Value::as_str)).collect();
    let mut spare = (1..).map(|number| format!("call_{turn}_{number}"));
    let call = |(index, call): (usize, &Value)| {
        let name = call.pointer("/function/name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let Some(name) = name else {
            let found = quote(&call.to_string());
            return Err(malformed(format!("expected a function name in tool call {index}, found `{found}`")));
        };
        let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let id = id.map(ToOwned::to_owned).or_else(|| spare.find(|spare| !given.contains(spare.as_str())));
        Ok(ToolCall {
            id: id.unwrap_or_default(),
            name: name.into(),
            arguments: match call.pointer("/function/arguments") {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            },
        })
    };
    listed.iter().enumerate().map(call).collect()
}

fn usage(json: &Value) -> TokenUsage {
    let number = |path: &str| json.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    TokenUsage {
        input_tokens: number("/usage/prompt_tokens"),
        output_tokens: number("/usage/completion_tokens"),
        cache_read_tokens: number("/usage/prompt_tokens_details/cached_tokens"),
        cache_write_tokens: number("/usage/prompt_tokens_details/cache_write_tokens"),
    }
}

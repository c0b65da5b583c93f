//! One line of a script: a reply with paths in it.

use hotcell_core::model::ReplyStop;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::results::Results;
use super::template::{self, Budget, Template};

/// A reply as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLine {
    text: Option<String>,
    #[serde(default)]
    calls: Vec<Box<RawValue>>,
    stop: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    name: String,
    args: Option<Value>,
}

/// A reply whose paths have been read but not followed.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) stop: ReplyStop,
    text: Option<Template>,
    calls: Vec<(String, Value)>,
}

/// A reply without paths; calls are names and JSON texts.
pub(super) struct Filled {
    pub(super) text: Option<String>,
    pub(super) calls: Vec<(String, String)>,
}

const STOPS: [(&str, ReplyStop); 7] = [
    ("end_turn", ReplyStop::EndTurn),
    ("tool_use", ReplyStop::ToolUse),
    ("max_tokens", ReplyStop::MaxTokens),
    ("stop_sequence", ReplyStop::StopSequence),
    ("refusal", ReplyStop::Refusal),
    ("safety", ReplyStop::Safety),
    ("pause_turn", ReplyStop::PauseTurn),
];

impl Line {
    pub(super) fn parse(number: usize, text: &str) -> Result<Self, String> {
        let raw: RawLine = object(text)?;
        if raw.text.is_none() && raw.calls.is_empty() {
            return Err("expected `text`, `calls` or both, found neither".into());
        }
        let stop = match raw.stop.as_deref() {
            Some(word) => stop(word)?,
            None if raw.calls.is_empty() => ReplyStop::EndTurn,
            None => ReplyStop::ToolUse,
        };
        let text = raw.text.as_deref().map(Template::parse).transpose()?;
        let mut calls = Vec::new();
        for (index, call) in raw.calls.iter().enumerate() {
            let RawCall { name, args } =
                object(call.get()).map_err(|error| format!("call {index}: {error}"))?;
            if name.is_empty() {
                return Err(format!("call {index}: the name is empty"));
            }
            let args = args.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            template::check(&args)?;
            calls.push((name, args));
        }
        Ok(Self { number, stop, text, calls })
    }

    pub(super) fn fill(&self, results: &Results<'_>, most_bytes: usize) -> Result<Filled, String> {
        let mut budget = Budget::new(most_bytes);
        let text = self.text.as_ref().map(|text| text.print(results, &mut budget)).transpose()?;
        let fill = |(name, args): &(String, Value)| {
            Ok((name.clone(), template::fill(args, results, &mut budget)?.to_string()))
        };
        let calls = self.calls.iter().map(fill).collect::<Result<_, String>>()?;
        Ok(Filled { text, calls })
    }
}

fn stop(word: &str) -> Result<ReplyStop, String> {
    STOPS.iter().find(|(known, _)| *known == word).map(|(_, stop)| stop.clone()).ok_or_else(|| {
        let known: Vec<_> = STOPS.iter().map(|(known, _)| format!("`{known}`")).collect();
        format!("`stop`: expected one of {}, found `{}`", known.join(", "), template::short(word))
    })
}

/// Reads an object; left to itself, serde would take the fields from an array as well.
fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    if text.starts_with('{') {
        serde_json::from_str(text).map_err(|error| without_line(&error))
    } else {
        Err(format!("expected a JSON object, found `{}`", template::short(text)))
    }
}

/// The message with the column only: each line is parsed alone, so its line is always 1.
fn without_line(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or(&message);
    format!("{} (column {})", template::short(message), error.column())
}

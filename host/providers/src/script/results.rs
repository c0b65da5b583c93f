//! What the tools returned, and paths into it.

use std::fmt;
use std::sync::Arc;

use hotcell_core::content::Block;
use hotcell_core::message::Message;
use serde_json::{Value, json};

use super::template::short;

/// A path such as `calls[0].structured.rows[0].total`.
#[derive(Debug, Clone)]
pub(super) struct Path {
    call: i64,
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) if is_plain(key) => write!(f, ".{key}"),
            Self::Key(key) => write!(f, "[{}]", Value::String(key.clone())),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Path {
    /// Reads `calls[N]` and any number of `.key`, `["key"]` and `[index]`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            let text = short(text);
            format!(
                "`{{{{{text}}}}}` is not a path: {why}; expected one such as `{{{{calls[0].structured.rows[0].total}}}}`"
            )
        };
        let rest = text.strip_prefix("calls[").ok_or_else(|| wrong("it does not start with `calls[`"))?;
        let (call, mut rest) = rest.split_once(']').ok_or_else(|| wrong("a `]` is missing"))?;
        let call = call.parse().map_err(|error: std::num::ParseIntError| wrong(&error.to_string()))?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = parse_step(rest).map_err(wrong)?;
            steps.push(step);
            rest = after;
        }
        Ok(Self { call, steps })
    }
}

fn parse_step(text: &str) -> Result<(Step, &str), &'static str> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (key, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        return if is_plain(key) {
            Ok((Step::Key(key.into()), rest))
        } else {
            Err("a key after `.` has letters, digits, `_` and `-`; write others as `[\"...\"]`")
        };
    }
    let rest = text.strip_prefix('[').ok_or("after a value comes `.` or `[`")?;
    if rest.starts_with('"') {
        let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let key = strings.next().and_then(Result::ok).ok_or("a quoted key is not closed")?;
        let after = rest.get(strings.byte_offset()..).and_then(|rest| rest.strip_prefix(']'));
        return Ok((Step::Key(key), after.ok_or("a `]` is missing")?));
    }
    let (index, rest) = rest.split_once(']').ok_or("a `]` is missing")?;
    match index.parse() {
        Ok(index) => Ok((Step::Index(index), rest)),
        Err(_) => Err("an index is a whole number from 0"),
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// The tool results of a conversation, in their order.
pub(super) struct Results<'a> {
    messages: Vec<&'a Message>,
}

impl<'a> Results<'a> {
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let is_result = |message: &&Message| matches!(message, Message::Tool { .. });
        Self { messages: messages.iter().map(AsRef::as_ref).filter(is_result).collect() }
    }

    /// The value at the end of the path.
    ///
    /// # Errors
    /// How far the path leads, and what exists there.
    pub(super) fn find(&self, path: &Path) -> Result<Value, String> {
        let count = i64::try_from(self.messages.len()).unwrap_or(i64::MAX);
        let index = if path.call < 0 { path.call.saturating_add(count) } else { path.call };
        let message = usize::try_from(index).ok().and_then(|index| self.messages.get(index));
        let root = format!("calls[{}]", path.call);
        let Some(message) = message else {
            let exists = match count {
                0 => "no tool result exists yet".to_owned(),
                1 => "one tool result exists, `calls[0]`".to_owned(),
                _ => format!("{count} tool results exist, `calls[0]` to `calls[{}]`", count - 1),
            };
            return Err(format!("`{root}` does not exist: {exists}"));
        };
        let mut at = root;
        let mut value = &view(message);
        for step in &path.steps {
            let next = match step {
                Step::Key(key) => value.as_object().and_then(|fields| fields.get(key)),
                Step::Index(index) => value.as_array().and_then(|items| items.get(*index)),
            };
            let Some(next) = next else {
                return Err(format!("`{at}{step}` does not exist: `{at}` is {}", describe(value)));
            };
            at = format!("{at}{step}");
            value = next;
        }
        Ok(value.clone())
    }
}

/// One tool result as paths see it.
fn view(message: &Message) -> Value {
    let Message::Tool { name, outcome, content, .. } = message else { return Value::Null };
    let texts: Vec<_> = content
        .iter()
        .filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let text = texts.join("\n");
    let structured = content.iter().find_map(|block| match block {
        Block::Json { value } => Some(value.clone()),
        _ => None,
    });
    // Where the text is the structured result already, the message does not say it twice.
    let repeated = || serde_json::from_str::<Value>(&text).ok().filter(|_| !message.is_tool_error());
    let structured = structured.or_else(repeated);
    json!({
        "name": name,
        "outcome": outcome.map(|outcome| outcome.as_str()),
        "ok": !message.is_tool_error(),
        "text": text,
        "structured": structured,
    })
}

/// What a value is, for somebody who looked for something in it.
fn describe(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "an object without keys".into(),
        Value::Object(fields) => {
            let more = if fields.len() > 20 { ", ..." } else { "" };
            let keys: Vec<_> = fields.keys().take(20).map(|key| format!("`{}`", short(key))).collect();
            format!("an object with the keys {}{more}", keys.join(", "))
        }
        Value::Array(items) => match items.len() {
            0 => "an empty array".into(),
            1 => "an array with one element, [0]".into(),
            len => format!("an array with {len} elements, [0] to [{}]", len - 1),
        },
        other => {
            let text = other.to_string();
            let more = if text.chars().count() > 200 { "..." } else { "" };
            format!("{}{more}", short(&text))
        }
    }
}

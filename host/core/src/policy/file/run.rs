//! The table `[run]`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use super::limits::duration;
use super::reader::{Fields, Node, Reader};
use crate::policy::{Bound, RunPolicy};

/// Reads `[run]`.
pub(super) fn read(reader: &mut Reader, node: &Node<'_>) -> RunPolicy {
    let known = ["model", "max_turns", "max_tool_calls", "max_time", "strict", "output_schema", "attach"];
    let Some(fields) = reader.fields(node, &known) else {
        return RunPolicy::default();
    };
    RunPolicy {
        model: model(reader, &fields),
        max_turns: fields.get("max_turns").and_then(|node| bound(reader, &node)),
        max_tool_calls: fields.get("max_tool_calls").and_then(|node| bound(reader, &node)),
        max_time: fields.get("max_time").and_then(|node| duration(reader, &node)),
        strict: fields.get("strict").and_then(|node| reader.flag(&node)),
        output_schema: fields.get("output_schema").and_then(|node| {
            path(reader, &node, "the path of a file with a JSON Schema, such as \"answer.json\"")
        }),
        attach: attach(reader, &fields),
    }
}

fn path(reader: &mut Reader, node: &Node<'_>, expected: &str) -> Option<PathBuf> {
    let help = "write the path in double quotes";
    let text = reader.text(node, expected, help)?;
    if text.is_empty() {
        reader.wrong(node, expected, help);
        return None;
    }
    Some(text.into())
}

fn attach(reader: &mut Reader, fields: &Fields<'_>) -> Vec<PathBuf> {
    let Some(node) = fields.get("attach") else { return Vec::new() };
    let expected = "a list of files, such as [\"chart.png\"]";
    let files = reader.array(&node, expected, "write the paths in double quotes between brackets");
    files.iter().filter_map(|file| path(reader, file, "the path of a file, such as \"chart.png\"")).collect()
}

fn model(reader: &mut Reader, fields: &Fields<'_>) -> Option<String> {
    let node = fields.get("model")?;
    let expected = "a model, such as \"openai/gpt-4.1\" or \"script:FILE\"";
    let help = "write the provider, a slash and the model in double quotes";
    let text = reader.text(&node, expected, help)?;
    if text.trim().is_empty() {
        reader.wrong(&node, expected, help);
    }
    Some(text.into())
}

fn bound(reader: &mut Reader, node: &Node<'_>) -> Option<Bound> {
    if node.is_text("unlimited") {
        return Some(Bound::Unlimited);
    }
    let expected = "a whole number from 1 to 4294967295, or \"unlimited\"";
    let help = "write a number without quotes, or the word \"unlimited\" with them";
    let number = reader.integer(node, expected, help)?;
    let bound = u32::try_from(number).ok().and_then(NonZeroU32::new).map(Bound::AtMost);
    if bound.is_none() {
        let help =
            if number == 0 { "0 is no bound here; write \"unlimited\" if that is meant" } else { help };
        reader.wrong(node, expected, help);
    }
    bound
}

//! The table `[run]`.

use std::num::NonZeroU32;

use super::limits::duration;
use super::reader::{Fields, Node, Reader};
use crate::policy::{Bound, RunPolicy};

/// Reads `[run]`.
pub(super) fn read(reader: &mut Reader, node: &Node<'_>) -> RunPolicy {
    let Some(fields) = reader.fields(node, &["model", "max_turns", "max_tool_calls", "max_time"]) else {
        return RunPolicy::default();
    };
    RunPolicy {
        model: model(reader, &fields),
        max_turns: fields.get("max_turns").and_then(|node| bound(reader, &node)),
        max_tool_calls: fields.get("max_tool_calls").and_then(|node| bound(reader, &node)),
        max_time: fields.get("max_time").and_then(|node| duration(reader, &node)),
    }
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

//! From the types of this crate to those of the component interface and back.
//!
//! Texts and bytes are moved, never copied or read: a large result needs its memory once.

use std::time::Duration;

use super::bindings::exports::hotcell::tool::tools as wit;
use super::bindings::hotcell::types::types as data;
use crate::context::Context;
use crate::definition::Definition;
use crate::failure::{Failure, Fault};
use crate::output::{Block, Output};

pub(super) fn definition(definition: Definition) -> wit::Definition {
    let hints = definition.hints;
    wit::Definition {
        name: definition.name,
        title: definition.title,
        description: definition.description,
        input_schema: definition.input_schema.to_string(),
        output_schema: definition.output_schema.map(|schema| schema.to_string()),
        hints: data::Hints {
            read_only: hints.read_only,
            destructive: hints.destructive,
            idempotent: hints.idempotent,
            open_world: hints.open_world,
        },
        timeout_ms: definition.timeout.map(millis),
        examples: definition.examples,
        attributes: Vec::new(),
    }
}

pub(super) fn context(context: wit::Context) -> Context {
    Context {
        call_id: context.call_id,
        idempotency_key: context.idempotency_key,
        session: context.session,
        attributes: context.attributes.into_iter().map(|known| (known.key, known.value)).collect(),
    }
}

pub(super) fn output(output: Output) -> wit::Output {
    wit::Output {
        content: output.content.into_iter().map(block).collect(),
        structured: output.structured,
        attributes: Vec::new(),
    }
}

fn block(block: Block) -> data::Block {
    match block {
        Block::Text(text) => data::Block::Text(text),
        Block::Json(json) => data::Block::Json(json),
        Block::Blob { media_type, bytes } => data::Block::Blob(data::Blob { media_type, bytes }),
        Block::Link { uri, media_type, title } => data::Block::Link(data::Link { uri, media_type, title }),
    }
}

pub(super) fn failure(failure: Failure) -> wit::Failure {
    wit::Failure {
        fault: match failure.fault {
            Fault::InvalidInput => data::Fault::InvalidInput,
            Fault::NotFound => data::Fault::NotFound,
            Fault::Denied => data::Fault::Denied,
            Fault::Unauthenticated => data::Fault::Unauthenticated,
            Fault::Conflict => data::Fault::Conflict,
            Fault::RateLimited => data::Fault::RateLimited,
            Fault::Upstream => data::Fault::Upstream,
            Fault::Unavailable => data::Fault::Unavailable,
            Fault::Cancelled => data::Fault::Cancelled,
            Fault::Internal => data::Fault::Internal,
        },
        code: failure.code,
        message: failure.message,
        advice: failure.advice,
        retry_after_ms: failure.retry_after.map(millis),
        effect_possible: failure.effect_possible,
        attributes: Vec::new(),
    }
}

/// Longer than 49 days is as good as 49 days.
fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

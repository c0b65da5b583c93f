//! `hotcell:tool/tools@0.1.0`: the types of `wit/types/types.wit`, in its order.

use hotcell_core::call::ToolFault;
use hotcell_core::content::Block;
use hotcell_core::outcome::Fault as CoreFault;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, ComponentType, Instance, Lift, Lower, TypedFunc};

use super::{Exports, Input, RawBlock, RawDefinition, RawFailure, RawOutput};
use crate::host::Host;

pub(super) const INTERFACE: &str = "hotcell:tool/tools@0.1.0";

/// The function that names the tools, and its signature.
pub(super) const DEFINITIONS: (&str, &str) = (
    "definitions",
    "() -> list<record{name: string, title: option<string>, description: string, input-schema: string, \
     output-schema: option<string>, hints: record{read-only: option<bool>, destructive: option<bool>, \
     idempotent: option<bool>, open-world: option<bool>}, timeout-ms: option<u32>, examples: list<string>, \
     attributes: list<record{key: string, value: string}>}>",
);

/// The function that runs a tool, and its signature.
pub(super) const CALL: (&str, &str) = (
    "call",
    "(string, string, record{call-id: string, idempotency-key: option<string>, session: option<string>, \
     attributes: list<record{key: string, value: string}>}) -> \
     result<record{content: list<variant{text: string, json: string, \
     blob: record{media-type: string, bytes: list<u8>}, \
     link: record{uri: string, media-type: option<string>, title: option<string>}}>, \
     structured: option<string>, attributes: list<record{key: string, value: string}>}, \
     record{fault: enum{invalid-input, not-found, denied, unauthenticated, conflict, rate-limited, upstream, \
     unavailable, cancelled, internal}, code: option<string>, message: string, advice: option<string>, \
     retry-after-ms: option<u32>, effect-possible: bool, attributes: list<record{key: string, value: string}>}>",
);

#[derive(Debug, ComponentType, Lift, Lower)]
#[component(record)]
struct Attribute {
    key: String,
    value: String,
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
struct Hints {
    #[component(name = "read-only")]
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    #[component(name = "open-world")]
    open_world: Option<bool>,
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
struct Definition {
    name: String,
    title: Option<String>,
    description: String,
    #[component(name = "input-schema")]
    input_schema: String,
    #[component(name = "output-schema")]
    output_schema: Option<String>,
    hints: Hints,
    #[component(name = "timeout-ms")]
    timeout_ms: Option<u32>,
    examples: Vec<String>,
    #[expect(dead_code, reason = "part of the interface; nothing reads it yet")]
    attributes: Vec<Attribute>,
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
struct Blob {
    #[component(name = "media-type")]
    media_type: String,
    bytes: Vec<u8>,
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
struct Link {
    uri: String,
    #[component(name = "media-type")]
    media_type: Option<String>,
    title: Option<String>,
}

#[derive(Debug, ComponentType, Lift)]
#[component(variant)]
enum BlockType {
    #[component(name = "text")]
    Text(String),
    #[component(name = "json")]
    Json(String),
    #[component(name = "blob")]
    Blob(Blob),
    #[component(name = "link")]
    Link(Link),
}

#[derive(Debug, ComponentType, Lower)]
#[component(record)]
struct Context<'a> {
    #[component(name = "call-id")]
    call_id: &'a str,
    #[component(name = "idempotency-key")]
    idempotency_key: Option<&'a str>,
    session: Option<&'a str>,
    attributes: &'a [Attribute],
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
struct Output {
    content: Vec<BlockType>,
    structured: Option<String>,
    #[expect(dead_code, reason = "part of the interface; nothing reads it yet")]
    attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[expect(dead_code, reason = "values come from guests, through the derived `Lift`")]
enum Fault {
    #[component(name = "invalid-input")]
    InvalidInput,
    #[component(name = "not-found")]
    NotFound,
    #[component(name = "denied")]
    Denied,
    #[component(name = "unauthenticated")]
    Unauthenticated,
    #[component(name = "conflict")]
    Conflict,
    #[component(name = "rate-limited")]
    RateLimited,
    #[component(name = "upstream")]
    Upstream,
    #[component(name = "unavailable")]
    Unavailable,
    #[component(name = "cancelled")]
    Cancelled,
    #[component(name = "internal")]
    Internal,
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
struct Failure {
    fault: Fault,
    code: Option<String>,
    message: String,
    advice: Option<String>,
    #[component(name = "retry-after-ms")]
    retry_after_ms: Option<u32>,
    #[component(name = "effect-possible")]
    effect_possible: bool,
    #[expect(dead_code, reason = "part of the interface; nothing reads it yet")]
    attributes: Vec<Attribute>,
}

type CallParams<'a> = (&'a str, &'a str, Context<'a>);
type CallResult = (Result<Output, Failure>,);

pub(super) async fn call(
    exports: Exports,
    store: &mut Store<Host>,
    instance: &Instance,
    input: Input<'_>,
) -> wasmtime::Result<Result<RawOutput, RawFailure>> {
    let function: TypedFunc<CallParams<'_>, CallResult> = typed(instance, store, exports.call)?;
    let ctx = Context {
        call_id: input.call_id,
        idempotency_key: input.idempotency_key,
        session: input.session,
        attributes: &[],
    };
    let (result,) = function.call_async(&mut *store, (input.tool, input.arguments, ctx)).await?;
    Ok(match result {
        Ok(output) => Ok(RawOutput {
            content: output.content.into_iter().map(block).collect(),
            structured: output.structured,
        }),
        Err(failure) => Err(self::failure(failure)),
    })
}

pub(super) async fn definitions(
    exports: Exports,
    store: &mut Store<Host>,
    instance: &Instance,
) -> wasmtime::Result<Vec<RawDefinition>> {
    let function: TypedFunc<(), (Vec<Definition>,)> = typed(instance, store, exports.definitions)?;
    let (definitions,) = function.call_async(&mut *store, ()).await?;
    Ok(definitions.into_iter().map(definition).collect())
}

fn typed<Params, Return>(
    instance: &Instance,
    store: &mut Store<Host>,
    export: wasmtime::component::ComponentExportIndex,
) -> wasmtime::Result<TypedFunc<Params, Return>>
where
    Params: ComponentNamedList + Lower,
    Return: ComponentNamedList + Lift,
{
    instance.get_typed_func(store, export)
}

fn block(block: BlockType) -> RawBlock {
    match block {
        BlockType::Text(text) => RawBlock::Other(Block::Text { text }),
        BlockType::Json(text) => RawBlock::Json(text),
        BlockType::Blob(Blob { media_type, bytes }) => RawBlock::Other(Block::Blob { media_type, bytes }),
        BlockType::Link(Link { uri, media_type, title }) => {
            RawBlock::Other(Block::Link { uri, media_type, title })
        }
    }
}

fn failure(failure: Failure) -> RawFailure {
    let fault = match failure.fault {
        Fault::InvalidInput => CoreFault::InvalidInput,
        Fault::NotFound => CoreFault::NotFound,
        Fault::Denied => CoreFault::Denied,
        Fault::Unauthenticated => CoreFault::Unauthenticated,
        Fault::Conflict => CoreFault::Conflict,
        Fault::RateLimited => CoreFault::RateLimited,
        Fault::Upstream => CoreFault::Upstream,
        Fault::Unavailable => CoreFault::Unavailable,
        Fault::Cancelled => CoreFault::Cancelled,
        Fault::Internal => CoreFault::Internal,
    };
    RawFailure {
        fault: ToolFault {
            fault,
            code: failure.code,
            retry_after_ms: failure.retry_after_ms,
            effect_possible: failure.effect_possible,
        },
        message: failure.message,
        advice: failure.advice,
    }
}

fn definition(definition: Definition) -> RawDefinition {
    let hints = definition.hints;
    RawDefinition {
        name: definition.name,
        title: definition.title,
        description: definition.description,
        input_schema: definition.input_schema,
        output_schema: definition.output_schema,
        hints: [hints.read_only, hints.destructive, hints.idempotent, hints.open_world],
        timeout_ms: definition.timeout_ms,
        examples: definition.examples,
    }
}

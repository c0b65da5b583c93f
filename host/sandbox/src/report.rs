//! From how a guest ended to the one report the caller gets.

use std::sync::atomic::Ordering;
use std::time::Instant;

use hotcell_core::call::{BudgetUse, CallReport, Trap as TrapReport};
use hotcell_core::content::Block;
use hotcell_core::outcome::{Outcome, Phase, TrapKind};
use hotcell_core::text::cap_bytes;
use hotcell_core::units::{format_bytes, format_duration};
use serde_json::Value;
use wasmtime::component::ResourceTableError;
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::abi::{RawBlock, RawFailure, RawOutput};
use crate::call_state::{CallState, Stop};

/// Bytes of a guest's own words that a report shows.
const GUEST_MESSAGE_BYTES: usize = 4 << 10;

/// Nesting of JSON in a result; deeper values are refused so that nobody who walks them overflows a stack.
const MAX_JSON_DEPTH: usize = 64;

/// The report of a call that was stopped from outside; the guest may still run for a moment.
pub(crate) fn stopped(call: &CallState, why: Stop) -> CallReport {
    let now = Instant::now();
    let mut report = match why {
        Stop::Deadline => {
            let limit = call.limits.timeout;
            let mut report = CallReport::new(
                Outcome::Deadline,
                format!("the call did not end within {} and was stopped", format_duration(limit)),
            )
            .with_advice("ask for less in one call, or have the operator raise `timeout`");
            report.budget = Some(BudgetUse {
                limit: millis(limit),
                used: millis(now.saturating_duration_since(call.started)),
            });
            report
        }
        Stop::Cancelled => {
            CallReport::new(Outcome::Cancelled, "the caller gave up on the call; the tool was stopped")
        }
        Stop::Shutdown => CallReport::new(Outcome::Cancelled, "the host shuts down; the tool was stopped"),
    };
    report.phase = Some(call.phase());
    report.usage = call.usage(now);
    report
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The report of a call whose tool returned.
pub(crate) fn returned(call: &CallState, result: Result<RawOutput, RawFailure>) -> CallReport {
    let mut report = match result {
        Ok(output) => match content(call, output) {
            Ok(report) => report,
            Err(report) => *report,
        },
        Err(failure) => failed(call, failure),
    };
    report.usage = call.usage(Instant::now());
    report
}

fn content(call: &CallState, output: RawOutput) -> Result<CallReport, Box<CallReport>> {
    let bytes = size(&output);
    call.meters.bytes_out.store(bytes, Ordering::Relaxed);
    if bytes > call.limits.result_bytes {
        return Err(Box::new(too_large(call, Some(bytes))));
    }
    let mut report = CallReport::new(Outcome::Ok, "");
    report.structured = output.structured.map(|text| json(&text, "structured")).transpose()?;
    for (index, block) in output.content.into_iter().enumerate() {
        report.content.push(match block {
            RawBlock::Json(text) => Block::Json { value: json(&text, &format!("content[{index}]"))? },
            RawBlock::Other(block) => block,
        });
    }
    Ok(report)
}

/// What a block counts besides what it holds, so that a list of empty ones has a size too.
const BLOCK_BYTES: usize = 32;

fn optional(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

fn size(output: &RawOutput) -> u64 {
    let blocks: usize = output
        .content
        .iter()
        .map(|block| {
            BLOCK_BYTES
                + match block {
                    RawBlock::Json(text) | RawBlock::Other(Block::Text { text }) => text.len(),
                    RawBlock::Other(Block::Blob { media_type, bytes }) => media_type.len() + bytes.len(),
                    RawBlock::Other(Block::Link { uri, media_type, title }) => {
                        uri.len() + optional(media_type.as_deref()) + optional(title.as_deref())
                    }
                    RawBlock::Other(_) => 0,
                }
        })
        .sum();
    u64::try_from(blocks + optional(output.structured.as_deref())).unwrap_or(u64::MAX)
}

fn json(text: &str, place: &str) -> Result<Value, Box<CallReport>> {
    let refuse = |reason: String| {
        let report = CallReport::new(Outcome::InvalidResult, format!("the result's `{place}` {reason}"));
        Box::new(report.at(Phase::Lift).with_advice(BROKEN_TOOL))
    };
    let value: Value = serde_json::from_str(text).map_err(|error| refuse(format!("is not JSON: {error}")))?;
    if depth(&value) > MAX_JSON_DEPTH {
        return Err(refuse(format!("is nested more than {MAX_JSON_DEPTH} deep")));
    }
    Ok(value)
}

/// The parser has bounded the depth already, so this recursion is bounded too.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

const BROKEN_TOOL: &str = "the tool is broken; calling it again in the same way will not help";

fn failed(call: &CallState, failure: RawFailure) -> CallReport {
    let bytes =
        failure.message.len() + optional(failure.advice.as_deref()) + optional(failure.fault.code.as_deref());
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    call.meters.bytes_out.store(bytes, Ordering::Relaxed);
    if bytes > call.limits.result_bytes {
        return too_large(call, Some(bytes));
    }
    let mut report = CallReport::new(Outcome::ToolError, format!("the tool failed: {}", failure.fault.fault));
    report.guest_message = Some(cap_bytes(&failure.message, GUEST_MESSAGE_BYTES).to_owned());
    if let Some(advice) = failure.advice {
        // The tool's advice is its own word, so it stands with its message.
        let text = format!("{}\nadvice: {advice}", report.guest_message.unwrap_or_default());
        report.guest_message = Some(cap_bytes(&text, GUEST_MESSAGE_BYTES).to_owned());
    }
    let mut fault = failure.fault;
    fault.code = fault.code.map(|code| cap_bytes(&code, 256).to_owned());
    report.tool_fault = Some(fault);
    report.at(Phase::Call)
}

/// The report of a call in which a function of the host panicked.
pub(crate) fn panicked(call: &CallState) -> CallReport {
    let mut report = CallReport::new(Outcome::Internal, "a fault of the host ended the call")
        .with_advice("try again; tell the operator if it happens again")
        .at(call.phase());
    report.usage = call.usage(Instant::now());
    report
}

/// The report of a call whose guest ended with an error of the engine.
pub(crate) fn errored(call: &CallState, error: &wasmtime::Error, stderr_tail: Option<String>) -> CallReport {
    let mut report = classify(call, error);
    report.stderr_tail = stderr_tail;
    report.phase.get_or_insert(call.phase());
    report.usage = call.usage(Instant::now());
    report
}

fn classify(call: &CallState, error: &wasmtime::Error) -> CallReport {
    if let Some(I32Exit(status)) = error.downcast_ref::<I32Exit>() {
        return CallReport::new(
            Outcome::ToolError,
            format!("the tool exited with status {status} before it returned a result"),
        );
    }
    let trap = error.downcast_ref::<Trap>().copied();
    if trap == Some(Trap::OutOfFuel) {
        return out_of_fuel(call);
    }
    let in_guest = error.downcast_ref::<WasmBacktrace>().is_some_and(|trace| !trace.frames().is_empty());
    let text = format!("{error:#}");
    // The engine has no type for these three; a test holds each text.
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        return if in_guest { hostcall_bytes(call) } else { too_large(call, None).at(Phase::Lift) };
    }
    if text.contains("store handle limit exceeded") {
        let limit = u64::from(call.limits.component_handles);
        return resource(limit, "component handles", TrapKind::HandleTableFull);
    }
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
        return resource(u64::from(call.limits.wasi_handles), "handles", TrapKind::HandleTableFull);
    }
    let kind = trap.map_or(TrapKind::Other, trap_kind);
    let refused = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed) > 0;
    if refused(&call.meters.memory_refused) {
        return out_of_memory(call, trap.map(trap_kind));
    }
    if refused(&call.meters.resource_refused) {
        return resource(u64::from(call.limits.table_elements), "table elements", kind);
    }
    if call.phase() == Phase::Instantiate && trap.is_none() && text.contains("resource limit exceeded") {
        let mut report = resource(u64::from(call.limits.instances), "instances, memories or tables", kind);
        report.trap = None;
        return report;
    }
    if !in_guest && trap.is_none() && matches!(call.phase(), Phase::Call | Phase::Definitions) {
        return CallReport::new(
            Outcome::InvalidResult,
            "the result breaks the rules of the component interface",
        )
        .with_advice(BROKEN_TOOL)
        .at(Phase::Lift);
    }
    trapped(if trap.is_none() && is_handle_fault(error) { TrapKind::BadHandle } else { kind })
}

fn is_handle_fault(error: &wasmtime::Error) -> bool {
    error.downcast_ref::<ResourceTableError>().is_some()
        || format!("{error:#}").contains("unknown handle index")
}

fn trapped(kind: TrapKind) -> CallReport {
    let mut report = CallReport::new(Outcome::Trap, format!("the tool crashed: {kind}"))
        .with_advice("the tool failed on this input; try other arguments");
    report.trap = Some(TrapReport { kind });
    report
}

fn out_of_fuel(call: &CallState) -> CallReport {
    let limit = call.limits.fuel;
    let mut report = CallReport::new(Outcome::Fuel, format!("the tool used up its {limit} units of fuel"))
        .with_advice("ask for less in one call, or have the operator raise `fuel`");
    report.budget = Some(BudgetUse { limit, used: limit });
    call.meters.fuel.store(limit, Ordering::Relaxed);
    report
}

fn out_of_memory(call: &CallState, kind: Option<TrapKind>) -> CallReport {
    let limit = call.limits.memory_bytes;
    let used = call.meters.peak_memory.load(Ordering::Relaxed);
    let mut report = CallReport::new(
        Outcome::MemoryLimit,
        format!("the tool needs more than its {} of memory", format_bytes(limit)),
    )
    .with_advice("ask for less in one call, or have the operator raise `memory`");
    report.budget = Some(BudgetUse { limit, used });
    report.trap = kind.map(|kind| TrapReport { kind });
    report
}

fn resource(limit: u64, what: &str, kind: TrapKind) -> CallReport {
    let mut report =
        CallReport::new(Outcome::ResourceLimit, format!("the tool needs more than its {limit} {what}"))
            .with_advice("ask for less in one call");
    report.budget = Some(BudgetUse { limit, used: limit });
    report.trap = Some(TrapReport { kind });
    report
}

fn hostcall_bytes(call: &CallState) -> CallReport {
    let limit = call.limits.hostcall_bytes;
    let mut report = CallReport::new(
        Outcome::ResourceLimit,
        format!("the tool passed more than {} to the host at once", format_bytes(limit)),
    );
    report.budget = Some(BudgetUse { limit, used: limit });
    report.with_advice("ask for less in one call")
}

fn too_large(call: &CallState, bytes: Option<u64>) -> CallReport {
    let limit = call.limits.result_bytes;
    let found =
        bytes.map_or_else(|| format!("more than {}", format_bytes(call.limits.hostcall_bytes)), format_bytes);
    let mut report = CallReport::new(
        Outcome::ResultTooLarge,
        format!("the result has {found}, at most {} are allowed", format_bytes(limit)),
    )
    .with_advice("ask for a part of it, for example with a filter or a limit");
    report.budget = Some(BudgetUse { limit, used: bytes.unwrap_or(call.limits.hostcall_bytes) });
    report.at(Phase::Lift)
}

fn trap_kind(trap: Trap) -> TrapKind {
    match trap {
        Trap::UnreachableCodeReached => TrapKind::Unreachable,
        Trap::StackOverflow => TrapKind::StackOverflow,
        Trap::MemoryOutOfBounds | Trap::HeapMisaligned => TrapKind::MemoryOob,
        Trap::TableOutOfBounds => TrapKind::TableOob,
        Trap::IndirectCallToNull => TrapKind::IndirectNull,
        Trap::BadSignature => TrapKind::IndirectType,
        Trap::IntegerDivisionByZero => TrapKind::DivByZero,
        Trap::IntegerOverflow => TrapKind::IntOverflow,
        Trap::BadConversionToInteger => TrapKind::BadFloatConversion,
        Trap::CannotEnterComponent
        | Trap::CannotLeaveComponent
        | Trap::InvalidChar
        | Trap::StringOutOfBounds
        | Trap::ListOutOfBounds
        | Trap::InvalidDiscriminant
        | Trap::UnalignedPointer => TrapKind::CanonicalAbi,
        _ => TrapKind::Other,
    }
}

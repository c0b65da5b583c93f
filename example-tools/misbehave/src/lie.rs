//! Tools that return what they should not, and two that are harmless.

use std::sync::atomic::{AtomicU64, Ordering};

use hotcell_tool::{Failure, Output, tool};

/// Largest result to make: what a 32-bit guest can hold twice.
const MAX_RESULT_BYTES: u64 = 1 << 30;

/// Return a text of many bytes.
#[tool(read_only)]
pub(crate) fn huge_result(
    /// How many bytes; 40 MiB unless it is given, at most 1 GiB.
    bytes: Option<u64>,
) -> Result<String, Failure> {
    let bytes = bytes.unwrap_or(40 << 20);
    let length = usize::try_from(bytes.min(MAX_RESULT_BYTES)).unwrap_or(usize::MAX);
    if bytes > MAX_RESULT_BYTES {
        return Err(Failure::invalid_input(format!(
            "`bytes` is {bytes}, at most {MAX_RESULT_BYTES} are possible"
        )));
    }
    Ok("x".repeat(length))
}

/// Return a text that is not valid UTF-8.
#[tool(read_only)]
pub(crate) fn invalid_utf8() -> String {
    let bytes = b"caf\xe9 \xff\xfe \xed\xa0\x80".to_vec();
    // SAFETY: needed because the SDK has, rightly, no safe way to lie about UTF-8. The string breaks the
    // promise of its type, so nothing may read it as text: it is moved into the result, whose buffer goes
    // to the host as pointer and length. In native code only `into_bytes` may be called on it.
    #[expect(unsafe_code, reason = "the lesson of this tool")]
    unsafe {
        String::from_utf8_unchecked(bytes)
    }
}

/// Return a structured result that is not JSON.
#[tool(read_only)]
pub(crate) fn invalid_json() -> Output {
    Output::text("the structured part of this result is broken").structured_json(r#"{"total": 12,"#)
}

/// Count the calls this instance has served; more than 1 means that calls share memory.
#[tool(read_only)]
pub(crate) fn count_calls() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Ordering::Relaxed) + 1
}

/// Return the same text; the one tool here that behaves.
#[tool(read_only, idempotent, example = r#"{"text": "hello"}"#)]
pub(crate) fn echo(
    /// The text; empty unless it is given.
    text: Option<String>,
) -> String {
    text.unwrap_or_default()
}

//! Tools that end before they return.

use hotcell_tool::tool;

/// Panic, with a message on standard error.
#[tool(read_only)]
#[expect(clippy::panic, reason = "the lesson of this tool")]
pub(crate) fn panic(
    /// The message; it is for the log and not to be believed.
    message: Option<String>,
) {
    panic!("{}", message.as_deref().unwrap_or("this tool always panics"));
}

/// Exit the program instead of returning.
#[tool(read_only)]
#[expect(clippy::exit, reason = "the lesson of this tool")]
pub(crate) fn exit(
    /// The exit code; 0, which claims success, unless it is given.
    code: Option<u8>,
) {
    std::process::exit(i32::from(code.unwrap_or(0)));
}

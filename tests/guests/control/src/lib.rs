//! Asks how much time is left and whether anybody still waits.

use std::thread;
use std::time::{Duration, Instant};

use hotcell_tool::{Context, Failure, Output, control, tool};

/// Return how many milliseconds are left.
#[tool(read_only)]
fn remaining() -> u64 {
    u64::try_from(control::remaining().as_millis()).unwrap_or(u64::MAX)
}

/// Wait until the caller gives up, and return how many milliseconds that took; fails after a while.
#[tool(read_only)]
fn until_cancelled(
    /// How many milliseconds to wait at most; 10000 unless it is given.
    ms: Option<u64>,
) -> Result<u128, Failure> {
    let start = Instant::now();
    let longest = Duration::from_millis(ms.unwrap_or(10_000));
    while start.elapsed() < longest {
        if control::cancelled() {
            return Ok(start.elapsed().as_millis());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(Failure::unavailable("nobody gave up").retry_after(longest))
}

/// Return what the call is told about itself.
#[tool(read_only)]
fn context(context: &Context) -> Output {
    Output::text(context.call_id())
        .block(hotcell_tool::Block::Text(context.idempotency_key().unwrap_or("none").to_owned()))
        .block(hotcell_tool::Block::Text(context.session().unwrap_or("none").to_owned()))
}

/// Fail with everything a failure can say.
#[tool(read_only)]
fn fail() -> Result<(), Failure> {
    Err(Failure::rate_limited("too many \u{1b}[31mrequests")
        .code("burst")
        .advice("wait a little")
        .retry_after(Duration::from_millis(1_500))
        .effect_possible())
}

hotcell_tool::component!(remaining, until_cancelled, context, fail);

#[cfg(test)]
mod tests {
    use hotcell_tool::testing::{Call, call};
    use hotcell_tool::{Context, Fault};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_is_known_and_a_cancellation_is_seen() {
        let left = Call::new(&TOOLS, "remaining", &json!({})).remaining(Duration::from_millis(250)).run();
        assert_eq!(left.result.unwrap().structured_text(), Some("250"));
        assert!(Call::new(&TOOLS, "until_cancelled", &json!({})).cancelled().run().result.is_ok());
        let waited = call(&TOOLS, "until_cancelled", &json!({"ms": 1})).unwrap_err();
        assert_eq!(waited.fault, Fault::Unavailable);
    }

    #[test]
    fn the_context_and_the_failure_are_complete() {
        let context = Context::new("c").with_idempotency_key("k").with_session("s");
        let told = Call::new(&TOOLS, "context", &json!({})).context(context).run();
        assert_eq!(told.result.unwrap().to_text(), "c\nk\ns");
        let failure = call(&TOOLS, "fail", &json!({})).unwrap_err();
        assert_eq!((failure.fault, failure.effect_possible), (Fault::RateLimited, true));
    }
}

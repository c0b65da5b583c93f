//! Calls of a run that are tried again.

use std::time::Duration;

use hotcell_core::call::CallReport;
use hotcell_core::limits::Limits;
use hotcell_core::outcome::{Fault, Outcome};
use hotcell_core::replay::Replay;

use super::support::{Counter, harness, names, request, results, script};
use crate::host_tool::{HostTool, IntoReport as _};
use crate::scripted_model::{call_reply, text_reply};
use crate::tool_set::Offer;

/// `fetch()`, which is busy so often, then works.
fn fetch(busy: usize, ran: &Counter) -> Offer {
    let ran = ran.clone();
    let tool = HostTool::define("fetch", "Fetches.").unwrap().pure().handler(move |_| {
        ran.add();
        let busy = ran.get() <= busy;
        async move {
            if busy {
                let wait = Duration::from_secs(2);
                CallReport::failure(Fault::RateLimited, "slow down").retry_after(wait)
            } else {
                "fetched".into_report()
            }
        }
    });
    Offer::new(tool, "line").with_replay(Replay::Safe)
}

/// H-24.
///
/// For the run all tries are one call: one entry, one start, one end, one place in the budget.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_tried_again_is_one_call_of_the_run() {
    let ran = Counter::default();
    let model = script([call_reply([("c1", "fetch", "{}")]), text_reply("done")]);
    let result = harness(model, [fetch(2, &ran)]).run(request("go")).await.unwrap();
    assert_eq!((result.outcome(), ran.get(), results(&result)), ("completed", 3, vec!["fetched".to_owned()]));
    assert_eq!((result.tool_calls, result.elapsed), (1, Duration::from_secs(4)));
    assert_eq!(result.calls[0].report.as_ref().unwrap().usage.retries, 2);
    let told: Vec<_> = names(&result).into_iter().filter(|name| name.starts_with("tool_")).collect();
    assert_eq!(told, ["tool_started run:0:1 fetch", "tool_finished run:0:1 fetch success"]);
}

/// H-24.
///
/// The time of the run bounds the waits between tries.
#[tokio::test(start_paused = true)]
async fn a_run_whose_time_is_nearly_up_tries_no_call_again() {
    let ran = Counter::default();
    let model = script([call_reply([("c1", "fetch", "{}")]), text_reply("done")]);
    let limits = Limits { max_time: Some(Duration::from_secs(1)), ..Limits::default() };
    let result = harness(model, [fetch(2, &ran)]).run(request("go").limits(limits)).await.unwrap();
    let outcome = result.calls[0].report.as_ref().unwrap().outcome;
    assert_eq!((result.outcome(), ran.get(), outcome), ("completed", 1, Outcome::ToolError));
    assert!(results(&result)[0].contains("the tool suggests to wait: 2000 ms"), "{:?}", results(&result));
}

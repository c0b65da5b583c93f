//! Batches that run at once, approvals in the middle, and runs that go on and on.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt as _};
use hotcell_core::approval::Decision;
use hotcell_core::limits::Limits;
use hotcell_core::message::{Message, ToolCall};
use hotcell_core::model::{Model, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyStop, TokenUsage};
use hotcell_core::outcome::Outcome;

use super::support::{Approves, Counter, add, harness, names, nap, request, results, script, touch};
use crate::harness::HarnessConfig;
use crate::scripted_model::{call_reply, text_reply};

#[tokio::test(start_paused = true)]
async fn calls_that_may_run_at_once_do_and_their_results_stand_in_call_order() {
    let reply = || {
        call_reply([
            ("c1", "nap", r#"{"ms": 300}"#),
            ("c2", "nope", "{}"),
            ("c3", "nap", r#"{"ms": 100}"#),
            ("c4", "nap", r#"{"ms": 200}"#),
        ])
    };
    for (at_once, milliseconds) in [(1, 600), (2, 300), (4, 300)] {
        let effect = Counter::default();
        let config = HarnessConfig {
            concurrent_calls: NonZeroUsize::new(at_once).unwrap(),
            ..HarnessConfig::default()
        };
        let harness = harness(script([reply(), text_reply("ok")]), [nap(&effect)]).with_config(config);
        let result = harness.run(request("go")).await.unwrap();
        assert_eq!((result.elapsed.as_millis(), effect.get()), (milliseconds, 3), "{at_once} at once");
        let ends: Vec<_> =
            results(&result).iter().map(|text| text.starts_with("error: unknown_tool")).collect();
        assert_eq!(ends, [false, true, false, false]);
        let finished = names(&result).into_iter().filter(|name| name.starts_with("tool_finished"));
        let order: Vec<_> = finished.map(|name| name.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(order, ["run:0:1", "run:0:2", "run:0:3", "run:0:4"]);
    }
}

#[tokio::test]
async fn an_approved_call_runs_and_a_denied_one_tells_the_model_why() {
    for (decision, text, runs) in [
        (Decision::Approve, "touched", 1),
        (
            Decision::Deny("wrong file".into()),
            "error: denied\nmessage: `touch` did not run: it was not approved: wrong file.",
            0,
        ),
    ] {
        let ran = Counter::default();
        let model = script([call_reply([("c1", "touch", "{}")]), text_reply("ok")]);
        let approver = Approves(Duration::ZERO, Ok(decision));
        let result =
            harness(model, [touch(&ran)]).run(request("go").approver(Arc::new(approver))).await.unwrap();
        assert!(results(&result)[0].starts_with(text), "{:?}", results(&result));
        assert_eq!((ran.get(), result.ok()), (runs, true));
        assert!(names(&result).contains(&"approval_required run:0:1".to_owned()));
    }
}

#[tokio::test]
async fn without_an_approver_a_call_that_asks_is_denied_with_the_policy_line() {
    let ran = Counter::default();
    let model = script([call_reply([("c1", "touch", "{}")]), text_reply("ok")]);
    let result = harness(model, [touch(&ran)]).run(request("go")).await.unwrap();
    assert!(results(&result)[0].contains(r#"tools.touch = { permission = "allow" }"#));
    assert!(!names(&result).iter().any(|name| name.starts_with("approval_required")));
    assert_eq!((ran.get(), result.calls[0].report.as_ref().unwrap().outcome), (0, Outcome::Denied));
}

/// P-59.
#[tokio::test]
async fn a_tool_learns_which_call_it_serves() {
    let tool = crate::host_tool::HostTool::define("who", "").unwrap().pure().handler_with_context(
        |context, _| async move {
            format!("{} {} {}", context.call, context.idempotency_key.unwrap(), context.caller.run.unwrap())
        },
    );
    let model = script([call_reply([("c1", "who", "{}")]), text_reply("ok")]);
    let result =
        harness(model, [crate::tool_set::Offer::new(tool, "line")]).run(request("go")).await.unwrap();
    assert_eq!(results(&result), ["run:0:1 run:0:c1 run"]);
}

/// A model that calls a tool for many turns, and looks at whether history is shared or copied.
struct Tireless {
    turns: usize,
    seen: Mutex<Vec<(usize, usize)>>,
}

impl Model for Tireless {
    fn name(&self) -> &str {
        "tireless"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        let first: Arc<Message> = request.transcript.get(0).unwrap();
        let mut seen = self.seen.lock().unwrap();
        // Each list of messages that exists holds the first message once.
        seen.push((request.transcript.len(), Arc::strong_count(&first) - 1));
        let calls = if seen.len() <= self.turns {
            vec![ToolCall { id: "c".into(), name: "add".into(), arguments: r#"{"a":1,"b":2}"#.into() }]
        } else {
            Vec::new()
        };
        let text = calls.is_empty().then(|| "done".to_owned());
        let reply = ModelReply { text, calls, stop: ReplyStop::EndTurn, usage: TokenUsage::default() };
        stream::iter([Ok(ModelEvent::Reply(reply))]).boxed()
    }
}

// The bytes a turn writes are counted in the tests of the machine.
/// H-01, H-12.
#[tokio::test]
async fn two_thousand_turns_share_one_history_and_cost_the_same_each() {
    let model = Arc::new(Tireless { turns: 2_000, seen: Mutex::default() });
    let limits = Limits { max_turns: None, loop_guard: None, ..Limits::default() };
    let result = harness(Arc::clone(&model) as _, [add()]).run(request("go").limits(limits)).await.unwrap();
    assert_eq!((result.outcome(), result.turns, result.tool_calls), ("completed", 2_001, 2_000));
    let seen = model.seen.lock().unwrap();
    assert!(seen.iter().all(|(_, lists)| *lists == 1), "the list of messages was never copied");
    assert!(seen.windows(2).all(|pair| pair[1].0 == pair[0].0 + 2));
    // Four events in a turn, whatever the turn.
    assert_eq!(result.events.len(), 2 + 4 * 2_000 + 2);
}

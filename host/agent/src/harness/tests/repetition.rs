//! Models that repeat themselves, and what a run may cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hotcell_core::cost::{CostLimit, Prices};
use hotcell_core::limits::Limits;
use hotcell_core::loop_guard::{LoopGuard, OnTrip};
use hotcell_core::message::Message;
use hotcell_core::model::{ModelReply, TokenUsage};

use super::support::{add, harness, names, request, script};
use crate::harness::{HarnessConfig, RunError, RunResult};
use crate::host_tool::HostTool;
use crate::scripted_model::{ScriptedModel, call_reply, text_reply};
use crate::status::{ErrorKind, StopReason};
use crate::tool_set::Offer;

fn sum(a: u32) -> ModelReply {
    call_reply([("c", "add", format!(r#"{{"b": 1, "a": {a}}}"#).as_str())])
}

/// All texts of the tool results, those of one result together.
fn texts(result: &RunResult) -> Vec<String> {
    let text = |message: &Arc<Message>| match message.as_ref() {
        Message::Tool { content, .. } => {
            Some(content.iter().map(hotcell_core::content::Block::to_text).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    };
    result.transcript.messages().iter().filter_map(text).collect()
}

fn told(result: &RunResult) -> Vec<bool> {
    texts(result)
        .iter()
        .map(|text| text.starts_with("note: ") && text.contains("change the approach"))
        .collect()
}

async fn run(replies: impl IntoIterator<Item = ModelReply>, guard: LoopGuard) -> RunResult {
    let limits = Limits { loop_guard: Some(guard), ..Limits::default() };
    harness(script(replies), [add()]).run(request("go").limits(limits)).await.unwrap()
}

/// H-18.
#[tokio::test]
async fn a_call_that_repeats_with_the_same_result_is_noticed_at_the_third_and_the_run_goes_on() {
    let result = run([sum(1), sum(1), sum(1), text_reply("2")], LoopGuard::default()).await;
    assert_eq!((result.outcome(), told(&result)), ("completed", vec![false, false, true]));
    assert!(texts(&result)[2].ends_with(r#"{"sum":2}"#), "the result stands behind the note");
    assert!(names(&result).contains(&"repetition 1 x 3".to_owned()), "{:?}", names(&result));
    // The order of the keys is no difference, and after a note the count begins again.
    let other = call_reply([("c", "add", r#"{"a": 1, "b": 1}"#)]);
    let result = run([sum(1), other, sum(1), sum(1), sum(1), text_reply("2")], LoopGuard::default()).await;
    assert_eq!(told(&result), [false, false, true, false, false]);
}

/// H-18.
#[tokio::test]
async fn a_cycle_of_calls_is_noticed_and_a_batch_has_the_note_with_its_last_result() {
    let lap = || [sum(1), sum(2)];
    let result =
        run(lap().into_iter().chain(lap()).chain(lap()).chain([text_reply("")]), LoopGuard::default());
    assert_eq!(told(&result.await), [false, false, false, false, false, true]);
    let batch = || call_reply([("a", "add", r#"{"a": 1, "b": 1}"#), ("b", "add", r#"{"a": 2, "b": 1}"#)]);
    let result = run([batch(), batch(), batch(), text_reply("2")], LoopGuard::default()).await;
    assert_eq!(told(&result), [false, false, false, false, false, true]);
    assert!(names(&result).contains(&"repetition 2 x 3".to_owned()));
}

/// H-18.
#[tokio::test]
async fn a_result_that_changes_is_no_repetition() {
    let asked = Arc::new(AtomicUsize::new(0));
    let tool = HostTool::define("poll", "").unwrap().pure().handler(move |_| {
        let count = asked.fetch_add(1, Ordering::SeqCst);
        async move { format!("{count} of 5 are done") }
    });
    let replies = (0..5).map(|_| call_reply([("c", "poll", "{}")])).chain([text_reply("done")]);
    let result = harness(script(replies), [Offer::new(tool, "line")]).run(request("go")).await.unwrap();
    assert_eq!((result.outcome(), told(&result)), ("completed", vec![false; 5]));
}

#[tokio::test]
async fn a_result_that_is_kept_aside_is_compared_as_a_whole() {
    let tool =
        HostTool::define("long", "").unwrap().pure().handler(|_| async { "0123456789\n".repeat(5_000) });
    let replies = (0..3).map(|_| call_reply([("c", "long", "{}")])).chain([text_reply("done")]);
    let result = harness(script(replies), [Offer::new(tool, "line")]).run(request("go")).await.unwrap();
    assert_eq!(told(&result), [false, false, true], "each is kept under another handle");
}

#[tokio::test]
async fn a_model_that_repeats_itself_can_be_stopped() {
    let guard = LoopGuard::default().on_trip(OnTrip::Stop { after: 1 });
    let result = run((0..9).map(|_| sum(1)), guard).await;
    assert_eq!(
        (result.outcome(), &result.stop, result.tool_calls),
        ("loop_guard", &StopReason::LoopGuard, 6)
    );
    assert_eq!(told(&result), [false, false, true, false, false, true], "every call has its result");
    assert!(matches!(result.into_result(), Err(RunError::Stopped(_))));
}

#[tokio::test]
async fn without_a_guard_nothing_is_said() {
    let limits = Limits::strict();
    let replies = (0..5).map(|_| sum(1)).chain([text_reply("2")]);
    let result = harness(script(replies), [add()]).run(request("go").limits(limits)).await.unwrap();
    assert_eq!(told(&result), [false; 5]);
}

fn used(input_tokens: u64, output_tokens: u64, reply: ModelReply) -> ModelReply {
    let usage = TokenUsage { input_tokens, output_tokens, ..TokenUsage::default() };
    ModelReply { usage, ..reply }
}

fn at_most(dollars: f64) -> Limits {
    // Ten dollars for a million tokens, in and out: a thousand tokens are a cent.
    let prices = Prices::new(10.0, 10.0).unwrap();
    Limits { cost: Some(CostLimit::new(dollars, prices).unwrap()), loop_guard: None, ..Limits::default() }
}

async fn spend(model: &Arc<ScriptedModel>, dollars: f64, budget: u32) -> RunResult {
    let config = HarnessConfig { max_output_tokens: Some(budget), ..HarnessConfig::default() };
    let harness = harness(Arc::clone(model) as _, [add()]).with_config(config);
    harness.run(request("go").limits(at_most(dollars))).await.unwrap()
}

/// H-15, H-16.
#[tokio::test]
async fn a_run_ends_before_the_model_call_that_could_cost_more_than_is_left() {
    let model = script([used(1_000, 500, sum(1)), used(1_500, 500, sum(2)), text_reply("unused")]);
    let result = spend(&model, 0.05, 1_000).await;
    // 0.035 dollars are spent; the next prompt alone is about 1,500 tokens, and a reply of 256 does not fit.
    assert_eq!((result.outcome(), result.turns, model.replies_left()), ("failed", 2, 1));
    assert_eq!(
        (&result.stop, result.error.as_ref().unwrap().kind),
        (&StopReason::CostLimit, ErrorKind::CostLimit)
    );
    assert!((result.cost.unwrap().get() - 0.035).abs() < 1e-9, "{:?}", result.cost);
    assert_eq!(texts(&result).len(), 2, "the transcript is whole");
}

/// H-15.
#[tokio::test]
async fn one_reply_cannot_cost_more_than_is_left() {
    let model = script([used(1_000, 1_000, sum(1)), used(1_000, 400, text_reply("done"))]);
    let result = spend(&model, 0.04, 5_000).await;
    let budgets: Vec<_> = model.requests().iter().map(|request| request.max_output_tokens.unwrap()).collect();
    assert!(budgets[0] < 4_000 && budgets[1] < 1_000, "4,000 tokens can be paid for in all: {budgets:?}");
    assert_eq!(result.outcome(), "completed");
    assert!(result.cost.unwrap().get() <= 0.04);
}

/// H-16.
#[tokio::test]
async fn without_prices_nothing_is_counted_and_no_cost_ends_a_run() {
    let model = script([used(1_000_000_000, 1_000_000_000, text_reply("dear"))]);
    let result = harness(model, []).run(request("go")).await.unwrap();
    assert_eq!((result.outcome(), result.cost), ("completed", None));
}

/// H-17.
#[tokio::test]
async fn cached_tokens_are_paid_at_their_own_prices() {
    let usage = TokenUsage {
        input_tokens: 10_000,
        output_tokens: 1_000,
        cache_read_tokens: 5_000,
        cache_write_tokens: 1_000,
    };
    let reply = ModelReply { usage, ..text_reply("done") };
    let result = harness(script([reply]), []).run(request("go").limits(at_most(1.0))).await.unwrap();
    // (4,000 + 5,000 x 0.1 + 1,000 x 1.25 + 1,000) x 10 dollars for a million
    assert!((result.cost.unwrap().get() - 0.0675).abs() < 1e-9, "{:?}", result.cost);
}

#[tokio::test]
async fn a_prompt_that_cannot_be_paid_for_is_never_sent() {
    let model = script([text_reply("unused")]);
    let prompt = "word ".repeat(10_000);
    let result =
        harness(Arc::clone(&model) as _, []).run(request(&prompt).limits(at_most(0.01))).await.unwrap();
    assert_eq!((result.outcome(), model.requests().len()), ("failed", 0));
}

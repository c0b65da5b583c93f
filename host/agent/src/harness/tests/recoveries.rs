//! Runs that go on where they could have ended.

use std::num::NonZeroU32;
use std::sync::Arc;

use hotcell_core::limits::{Limits, OnTurnLimit};
use hotcell_core::message::Message;
use hotcell_core::model::{ModelError, ModelReply, ModelRequest, ReplyStop, ToolChoice};
use serde_json::json;

use super::support::{Counter, add, harness, name, names, nap, request, results, script};
use crate::harness::{HarnessConfig, RunError, RunResult};
use crate::scripted_model::{ScriptedModel, call_reply, text_reply};
use crate::status::{ErrorKind, StopReason};

fn with(stop: ReplyStop, text: &str) -> ModelReply {
    ModelReply { stop, ..text_reply(text) }
}

fn cut(text: &str) -> ModelReply {
    with(ReplyStop::MaxTokens, text)
}

fn paused(text: &str) -> ModelReply {
    with(ReplyStop::PauseTurn, text)
}

fn one_call() -> ModelReply {
    call_reply([("c", "add", r#"{"a": 1, "b": 2}"#)])
}

async fn run(model: &Arc<ScriptedModel>, limits: Limits, budget: Option<u32>) -> RunResult {
    let config = HarnessConfig { max_output_tokens: budget, ..HarnessConfig::default() };
    let harness = harness(Arc::clone(model) as _, [add()]).with_config(config);
    harness.run(request("go").limits(limits)).await.unwrap()
}

fn budgets(requests: &[ModelRequest]) -> Vec<Option<u32>> {
    requests.iter().map(|request| request.max_output_tokens).collect()
}

fn recoveries(result: &RunResult) -> Vec<String> {
    names(result).into_iter().filter(|name| name.starts_with("recovery")).collect()
}

/// H-19, H-42.
#[tokio::test]
async fn an_answer_that_is_cut_goes_on_with_a_doubled_budget_and_is_put_together() {
    let model = script([cut("The a"), cut("nswer"), cut(" is"), text_reply(" 42.")]);
    let result = run(&model, Limits::default(), Some(1_000)).await;
    assert_eq!((result.outcome(), result.output.as_deref()), ("completed", Some("The answer is 42.")));
    assert_eq!(budgets(&model.requests()), [1_000, 2_000, 4_000, 8_000].map(Some));
    let expected = ["1 Some(2000)", "2 Some(4000)", "3 Some(8000)"];
    assert_eq!(recoveries(&result), expected.map(|end| format!("recovery TruncatedText {end}")));
    // The model is asked to go on where it stopped; what it said stands before that.
    let last = model.requests()[3].transcript.messages();
    assert_eq!(
        last[last.len() - 2].as_ref(),
        &Message::Assistant { text: Some(" is".into()), calls: vec![] }
    );
    assert!(matches!(last[last.len() - 1].as_ref(), Message::User { .. }));
    let model = script([cut("a"), cut("b"), cut("c"), cut("d")]);
    let result = run(&model, Limits::default(), Some(1_000)).await;
    assert_eq!((result.outcome(), result.output.as_deref()), ("truncated", Some("abcd")));
    assert!(matches!(result.into_result(), Err(RunError::Truncated(_))));
}

/// H-19.
#[tokio::test]
async fn calls_that_are_cut_are_answered_and_asked_for_again() {
    let cut_call =
        ModelReply { stop: ReplyStop::MaxTokens, ..call_reply([("c1", "add", r#"{"a": 1, "b""#)]) };
    let model = script([cut_call, one_call(), text_reply("3")]);
    let result = run(&model, Limits::default(), Some(100)).await;
    assert_eq!((result.outcome(), result.tool_calls), ("completed", 1));
    assert!(results(&result)[0].contains("cut off at its token limit"), "{:?}", results(&result));
    // The budget stays raised for the run.
    assert_eq!(budgets(&model.requests()), [100, 200, 200].map(Some));
    assert_eq!(recoveries(&result), ["recovery TruncatedToolCall 1 Some(200)"]);
}

/// H-53.
#[tokio::test]
async fn cut_replies_are_counted_for_the_whole_run_text_and_calls_together() {
    let cut_call = ModelReply { stop: ReplyStop::MaxTokens, ..one_call() };
    let model = script([cut_call, one_call(), cut("a"), cut("b"), cut("c")]);
    let result = run(&model, Limits::default(), None).await;
    assert_eq!((result.outcome(), result.output.as_deref()), ("truncated", Some("abc")));
    assert_eq!(recoveries(&result).len(), 3);
    assert_eq!(budgets(&model.requests()), [None; 5], "where nobody set a budget there is none to double");
}

/// H-52.
#[tokio::test]
async fn fewer_recoveries_and_a_failing_turn_limit_can_be_configured() {
    let limits = Limits {
        max_turns: NonZeroU32::new(30),
        max_truncation_recoveries: 1,
        on_turn_limit: OnTurnLimit::Fail,
        ..Limits::default()
    };
    let result = run(&script([cut("a"), cut("b")]), limits.clone(), None).await;
    assert_eq!((result.outcome(), result.stop), ("truncated", StopReason::MaxTokens));
    let model = script((0..31).map(|_| one_call()));
    let limits = Limits { loop_guard: None, ..limits };
    let result = run(&model, limits, None).await;
    assert_eq!((result.outcome(), result.turns, model.replies_left()), ("failed", 30, 1));
    assert_eq!(result.error.unwrap().kind, ErrorKind::MaxTurns);
}

#[tokio::test]
async fn a_cut_reply_on_the_last_turn_ends_the_run_as_it_is() {
    let limits =
        Limits { max_turns: NonZeroU32::new(1), on_turn_limit: OnTurnLimit::Stop, ..Limits::default() };
    let result = run(&script([cut("this far")]), limits, None).await;
    assert_eq!((result.outcome(), result.output.as_deref()), ("truncated", Some("this far")));
}

/// H-46.
#[tokio::test]
async fn a_paused_turn_is_sent_back_as_it_stands_and_the_pieces_are_one_answer() {
    let pieces = ["a", "b", "c", "d", "e"];
    let model = script(pieces.map(paused).into_iter().chain([text_reply("f")]));
    let result = run(&model, Limits::default(), None).await;
    assert_eq!((result.outcome(), result.output.as_deref()), ("completed", Some("abcdef")));
    // What is sent holds one reply, not five: vendors take no two in a row.
    let last = model.requests()[5].transcript.messages();
    assert_eq!(last.len(), 2);
    assert_eq!(last[1].as_ref(), &Message::Assistant { text: Some("abcde".into()), calls: vec![] });
    assert_eq!(result.transcript.len(), 7, "the transcript has each as it came");
}

/// H-46.
#[tokio::test]
async fn a_turn_that_is_paused_without_end_fails_and_keeps_what_it_said() {
    let model = script(["a", "b", "c", "d", "e", "f", "g"].map(paused));
    let result = run(&model, Limits::strict(), None).await;
    assert_eq!(
        (result.outcome(), result.output.as_deref(), model.replies_left()),
        ("failed", Some("abcdef"), 1)
    );
    assert_eq!(result.error.unwrap().kind, ErrorKind::RecoveryExhausted);
}

#[tokio::test]
async fn an_empty_reply_is_asked_again_twice_and_is_never_kept() {
    let empty = || with(ReplyStop::EndTurn, " \n");
    let model = script([empty(), empty(), text_reply("here")]);
    let result = run(&model, Limits::default(), None).await;
    assert_eq!((result.outcome(), result.output.as_deref(), result.turns), ("completed", Some("here"), 3));
    let texts = result.transcript.messages();
    assert!(!texts.iter().any(|message| matches!(message.as_ref(), Message::Assistant { text, .. } if text.as_deref() != Some("here"))));
    assert_eq!(model.requests()[2].transcript.len(), 1, "what the user says stands together");
    let model = script([empty(), empty(), empty()]);
    let result = run(&model, Limits::default(), None).await;
    assert_eq!(result.error.as_ref().unwrap().kind, ErrorKind::RecoveryExhausted);
    assert_eq!((result.outcome(), result.output), ("failed", None));
}

#[tokio::test]
async fn a_reply_that_is_cut_before_it_says_anything_is_asked_for_again() {
    let model = script([cut(""), text_reply("brief")]);
    let result = run(&model, Limits::default(), Some(50)).await;
    assert_eq!((result.outcome(), result.output.as_deref()), ("completed", Some("brief")));
    assert_eq!(budgets(&model.requests()), [50, 100].map(Some));
}

/// P-36, P-48.
#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again_with_what_is_wrong() {
    let schema =
        json!({"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]});
    let limits = Limits { output_repairs: 1, ..Limits::default() };
    for (first, told) in [("```json\n{}\n```", "not JSON"), (r#"{"value": "4"}"#, "/value")] {
        let model = script([text_reply(first), text_reply(r#"{"value": 4}"#)]);
        let request = request("go").limits(limits.clone()).output_schema(schema.clone());
        let result = harness(Arc::clone(&model) as _, []).run(request).await.unwrap();
        assert_eq!((result.outcome(), result.data.as_ref()), ("completed", Some(&json!({"value": 4}))));
        let asked = model.requests()[1].transcript.last().unwrap();
        assert!(serde_json::to_string(&asked).unwrap().contains(told), "{asked:?}");
    }
    let model = script([text_reply("no"), text_reply("still no")]);
    let request = request("go").limits(limits).output_schema(schema);
    let result = harness(model, []).run(request).await.unwrap();
    assert_eq!(
        (result.outcome(), result.output.as_deref(), result.data),
        ("invalid_output", Some("still no"), None)
    );
}

#[tokio::test]
async fn a_reply_with_an_unreadable_call_is_asked_for_again_once_in_a_row() {
    let unreadable = || Err(ModelError::UnreadableCall { message: "half an object".into() });
    let replies = [unreadable(), Ok(one_call()), unreadable(), Ok(text_reply("3"))];
    let result = run(&Arc::new(ScriptedModel::new(replies)), Limits::strict(), None).await;
    assert_eq!((result.outcome(), result.turns), ("completed", 2));
    let result =
        run(&Arc::new(ScriptedModel::new([unreadable(), unreadable()])), Limits::strict(), None).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::MalformedReply);
}

#[tokio::test]
async fn what_a_model_must_call_is_asked_of_the_first_turn_only() {
    let model = script([one_call(), text_reply("3")]);
    let request = request("go").tool_choice(ToolChoice::Required);
    harness(Arc::clone(&model) as _, [add()]).run(request).await.unwrap();
    let choices: Vec<_> = model.requests().into_iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto]);
}

/// Nothing goes on once a run's time is up, whatever the reply says.
#[tokio::test(start_paused = true)]
async fn what_comes_too_late_is_not_followed_by_anything() {
    let limits = Limits { max_time: Some(std::time::Duration::from_millis(500)), ..Limits::default() };
    let model = super::support::Slow(std::time::Duration::from_millis(500), cut("half"));
    let result =
        harness(Arc::new(model), [nap(&Counter::default())]).run(request("go").limits(limits)).await.unwrap();
    assert_eq!(result.outcome(), "timeout");
    assert!(result.events.iter().all(|event| !name(&event.kind).starts_with("recovery")));
}

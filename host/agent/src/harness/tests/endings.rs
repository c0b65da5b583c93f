//! How runs end, and what a caller gets.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use hotcell_core::limits::{Limits, OnTurnLimit, Oversized};
use hotcell_core::model::{ModelReply, ReplyStop, ToolChoice};

use super::support::{add, harness, request, results, script};
use crate::harness::{HarnessConfig, RunError, RunResult};
use crate::scripted_model::{call_reply, text_reply};

fn one_call() -> ModelReply {
    call_reply([("c1", "add", r#"{"a": 2, "b": 3}"#)])
}

#[tokio::test]
async fn a_task_is_solved_with_a_tool_and_the_answer_comes_from_its_result() {
    let model = script([one_call(), text_reply("The sum is 5.")]);
    let config = HarnessConfig { system: Some("Be brief.".into()), ..HarnessConfig::default() };
    let harness = harness(Arc::clone(&model) as _, [add()]).with_config(config);
    let result = harness.run(request("2 + 3?")).await.unwrap().into_result().unwrap();
    assert_eq!((result.output.as_deref(), result.turns, result.tool_calls), (Some("The sum is 5."), 2, 1));
    assert_eq!(results(&result), [r#"{"sum":5}"#]);
    let requests = model.requests();
    assert_eq!((requests.len(), requests[0].transcript.len(), requests[1].transcript.len()), (2, 2, 4));
    assert_eq!(requests[0].tools.len(), 2, "the tool and the reader of kept results");
}

/// A run with this reply after one tool call.
async fn ended(last: ModelReply, limits: Limits) -> RunResult {
    harness(script([one_call(), last]), [add()]).run(request("go").limits(limits)).await.unwrap()
}

/// P-10, P-31, P-32, P-33, H-39, H-41, H-42, H-44, H-45.
#[tokio::test]
async fn every_ending_has_its_label_and_its_error() {
    let stopped = |stop| ModelReply { stop, ..text_reply("this far") };
    let one_turn =
        |on_turn_limit| Limits { max_turns: NonZeroU32::new(1), on_turn_limit, ..Limits::default() };
    let one_tool = Limits { max_tool_calls: NonZeroU32::new(1), ..Limits::default() };
    let free = || Limits { max_truncation_recoveries: 0, ..Limits::default() };
    for (last, limits, label) in [
        (stopped(ReplyStop::EndTurn), free(), "completed"),
        (stopped(ReplyStop::StopSequence), free(), "completed"),
        (stopped(ReplyStop::MaxTokens), free(), "truncated"),
        (stopped(ReplyStop::Other("odd".into())), free(), "truncated"),
        (stopped(ReplyStop::Refusal), free(), "refused"),
        (stopped(ReplyStop::Safety), free(), "refused"),
        (text_reply("this far"), one_turn(OnTurnLimit::FinalAnswer), "limited"),
        (text_reply("unused"), one_turn(OnTurnLimit::Stop), "max_steps"),
        (text_reply("unused"), one_turn(OnTurnLimit::Fail), "failed"),
        (call_reply([("c2", "add", "{}")]), one_tool, "max_tool_calls"),
    ] {
        let result = ended(last, limits).await;
        assert_eq!((result.outcome(), result.ok()), (label, label == "completed"));
        let ending = match result.clone().into_result() {
            Ok(_) => "completed",
            Err(RunError::Truncated(_)) => "truncated",
            Err(RunError::Refused(_)) => "refused",
            Err(RunError::LimitReached(_)) => "limited",
            Err(RunError::Stopped(result)) => result.outcome(),
            Err(RunError::Failed { .. }) => "failed",
            Err(RunError::Cancelled(_) | RunError::AwaitingInput(_) | RunError::InvalidOutput(_)) => {
                "another"
            }
        };
        assert_eq!(ending, label);
        assert_eq!(results(&result)[0], r#"{"sum":5}"#, "{label}: the transcript is whole");
    }
}

/// P-36.
#[tokio::test]
async fn an_answer_that_does_not_fit_its_schema_is_invalid_output() {
    let run = request("go").output_schema(serde_json::json!({"type": "integer"}));
    let result = harness(script([text_reply("five")]), []).run(run).await.unwrap();
    assert_eq!((result.outcome(), result.data.as_ref()), ("invalid_output", None));
    assert!(matches!(result.into_result(), Err(RunError::InvalidOutput(_))));
}

/// H-20.
#[tokio::test]
async fn the_final_account_is_asked_for_with_the_tools_declared_and_forbidden() {
    let model = script([one_call(), one_call(), one_call()]);
    let limits = Limits { max_turns: NonZeroU32::new(2), ..Limits::default() };
    let result = harness(Arc::clone(&model) as _, [add()]).run(request("go").limits(limits)).await.unwrap();
    assert_eq!((result.outcome(), result.turns, result.tool_calls), ("limited", 3, 2));
    let requests = model.requests();
    let choices: Vec<_> = requests.iter().map(|request| request.tool_choice.clone()).collect();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::None]);
    assert_eq!(requests[2].tools.len(), 2);
}

/// P-41.
#[tokio::test]
async fn a_long_result_is_cut_for_the_model_and_not_kept_whole() {
    let tool = crate::host_tool::HostTool::define("long", "")
        .unwrap()
        .pure()
        .handler(|_| async { "é".repeat(1_000) });
    let max_result_chars = NonZeroUsize::new(100).unwrap();
    let limits = Limits { max_result_chars, oversized: Oversized::Truncate, ..Limits::default() };
    let model = script([call_reply([("c1", "long", "{}")]), text_reply("ok")]);
    let offers = [crate::tool_set::Offer::new(tool, "line")];
    let result = harness(model, offers).run(request("go").limits(limits)).await.unwrap();
    assert_eq!(results(&result), [format!("{}\n[... 900 more characters]", "é".repeat(100))]);
    let report = result.calls[0].report.as_ref().unwrap();
    assert_eq!((report.content.len(), report.usage.bytes_out), (0, 2_000));
}

/// P-04, P-56, P-57.
#[tokio::test]
async fn a_conversation_goes_on_with_the_transcript_and_a_fresh_budget() {
    let model = script([one_call(), text_reply("5"), one_call(), text_reply("still 5")]);
    let limits = Limits { max_tool_calls: NonZeroU32::new(1), ..Limits::default() };
    let harness = harness(Arc::clone(&model) as _, [add()]);
    let first = harness.run(request("one").limits(limits.clone())).await.unwrap();
    let second = harness.run(request("two").history(&first.transcript).limits(limits)).await.unwrap();
    assert_eq!((second.outcome(), second.turns, second.tool_calls), ("completed", 2, 1));
    assert_eq!((first.transcript.len(), second.transcript.len()), (4, 8));
    assert_eq!(model.requests()[2].transcript.len(), 5);
}

/// P-63.
#[tokio::test]
async fn many_runs_share_one_harness_and_nothing_else() {
    let model = Arc::new(super::support::Slow(Duration::from_millis(1), text_reply("done")));
    let harness = harness(model, [add()]);
    let runs = (0..100).map(|n| {
        let mut request = request(&format!("prompt {n}"));
        request.run = hotcell_core::ids::RunId::parse(format!("run-{n}")).unwrap();
        harness.run(request)
    });
    for (n, result) in futures::future::join_all(runs).await.into_iter().enumerate() {
        let result = result.unwrap();
        assert_eq!(result.run.as_str(), format!("run-{n}"));
        let text = serde_json::to_string(&result.transcript).unwrap();
        assert!(text.contains(&format!("prompt {n}\"")) && result.transcript.len() == 2);
    }
}

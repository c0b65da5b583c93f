use std::future::{pending, ready};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hotcell_core::budget::{Budget, BudgetLimits};
use hotcell_core::call::Caller;
use hotcell_core::ids::CallId;
use hotcell_core::limits::Limits;
use hotcell_core::outcome::Outcome;
use serde_json::json;
use tokio::time::Instant;

use super::{AskUser, MAX_ANSWER_CHARS, MAX_QUESTION_CHARS, NoAnswer, Question, TIME_TO_ANSWER};
use crate::answer::Answer;
use crate::clock::TokioClock;
use crate::door::{Asked, Door, DoorRequest};
use crate::tool_set::ToolSet;

fn request(question: &str) -> DoorRequest {
    let arguments = json!({"question": question}).to_string();
    DoorRequest::new(Caller::local(), CallId::parse("c").unwrap(), "ask_user", arguments)
}

async fn ask(tool: AskUser, request: &DoorRequest) -> Answer {
    let tools = Arc::new(ToolSet::new([tool.offer()]).unwrap());
    let door = Door::new(tools, Arc::new(Limits::default()), Arc::new(TokioClock));
    door.call(request, Asked::Nobody).await.unwrap()
}

#[tokio::test]
async fn the_user_is_asked_without_an_approval_and_the_answer_is_the_result() {
    let asked: Arc<Mutex<Vec<Question>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let tool = AskUser::new(move |question| {
        seen.lock().unwrap().push(question);
        ready(Ok("blue\n\u{1b}[0m".to_owned()))
    });
    let answer = ask(tool, &request("Which\n\u{1b}[31mcolour\u{202e}?")).await;
    assert_eq!((answer.report.outcome, answer.text.as_ref()), (Outcome::Ok, "blue\n\u{1b}[0m"));
    let question = asked.lock().unwrap().pop().unwrap();
    assert_eq!((question.call.as_str(), question.text.as_str()), ("c", "Which\n\\u{1b}[31mcolour\\u{202e}?"));
}

#[tokio::test]
async fn questions_and_answers_are_bounded() {
    let tool = || AskUser::new(|_| ready(Ok("é".repeat(MAX_ANSWER_CHARS + 1))));
    let answer = ask(tool(), &request(&"é".repeat(MAX_QUESTION_CHARS))).await;
    assert_eq!(answer.report.content[0].to_text().chars().count(), MAX_ANSWER_CHARS);
    assert!(answer.report.message.contains("longer than 64000 characters"), "{}", answer.report.message);
    for bad in ["", &"é".repeat(MAX_QUESTION_CHARS + 1)] {
        assert_eq!(ask(tool(), &request(bad)).await.report.outcome, Outcome::InvalidArgs);
    }
}

#[tokio::test]
async fn a_user_who_does_not_answer_is_an_error_the_model_reads() {
    let answer = ask(AskUser::new(|_| ready(Err(NoAnswer("went home".into())))), &request("?")).await;
    assert_eq!(answer.report.outcome, Outcome::ToolError);
    assert!(answer.text.contains("The user did not answer.") && answer.text.contains("went home"));
}

/// H-22.
///
/// A person has an hour, whatever other host tools have; the caller's time and a cancellation end a
/// question before that.
#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_hour_its_callers_time_or_a_cancellation() {
    let tool = || AskUser::new(|_| pending());
    let began = Instant::now();
    assert_eq!(ask(tool(), &request("?")).await.report.outcome, Outcome::Deadline);
    assert!(began.elapsed() >= TIME_TO_ANSWER && began.elapsed() < TIME_TO_ANSWER + Duration::from_secs(1));
    let mut short = request("?");
    let deadline = Some(Instant::now().into_std() + Duration::from_secs(2));
    short.budget = Budget::root(BudgetLimits { deadline, ..BudgetLimits::default() });
    let began = Instant::now();
    assert_eq!(ask(tool(), &short).await.report.outcome, Outcome::Deadline);
    assert!(began.elapsed() < Duration::from_secs(3));
    let cancelled = request("?");
    cancelled.cancel.cancel();
    assert_eq!(ask(tool(), &cancelled).await.report.outcome, Outcome::Cancelled);
}

//! What is decided before anything runs.

use std::num::NonZeroUsize;

use hotcell_core::approval::{ApproverError, Decision};
use hotcell_core::budget::{Budget, BudgetLimits};
use hotcell_core::limits::Limits;
use hotcell_core::outcome::Outcome;
use hotcell_core::policy::Permission;
use serde_json::json;

use super::support::{Counter, Says, door, door_with, echo, request};
use crate::door::{Admission, Asked, Consent};

// L-03, L-05, L-13
/// P-03, P-28, P-30.
#[tokio::test]
async fn arguments_that_are_not_what_the_schema_asks_for_never_reach_the_tool() {
    let deep = format!("{{\"n\":{}1{}}}", "[".repeat(70), "]".repeat(70));
    let very_deep = "[".repeat(100_000);
    for (arguments, message) in [
        ("[]", "The arguments are an array, expected a JSON object."),
        ("null", "The arguments are null, expected a JSON object."),
        ("3", "The arguments are a number, expected a JSON object."),
        ("{", "The arguments are not JSON: EOF while parsing an object at line 1 column 1."),
        ("{\"n\": NaN}", "The arguments are not JSON: expected value at line 1 column 7."),
        ("{\"n\": 1e400}", "The arguments are not JSON: number out of range at line 1 column 11."),
        ("{} {}", "The arguments are not JSON: trailing characters at line 1 column 4."),
        ("```json\n{}\n```", "The arguments are not JSON: expected value at line 1 column 1."),
        (
            r#"{"n": "1"}"#,
            "The arguments do not match the input schema: at `/n`: \"1\" is not of type \"integer\".",
        ),
        (r#"{"n": 1, "n": 2}"#, "The arguments have a key twice in one object: `/n`."),
        (deep.as_str(), "The arguments are nested deeper than 64 levels."),
        (very_deep.as_str(), "The arguments are not JSON: recursion limit exceeded at line 1 column 128."),
    ] {
        let ran = Counter::default();
        let answer =
            door([echo(&ran, false)]).call(&request("probe", arguments), Asked::Nobody).await.unwrap();
        assert_eq!((answer.report.outcome, answer.report.message.as_str()), (Outcome::InvalidArgs, message));
        assert!(answer.text.starts_with("error: invalid_args\n"), "{}", answer.text);
        assert_eq!(ran.get(), 0);
    }
}

/// P-28.
#[tokio::test]
async fn good_arguments_reach_the_tool_as_they_are() {
    for (arguments, seen) in [
        ("", "{}"),
        (" \n", "{}"),
        ("{}", "{}"),
        (r#"{"n": 7}"#, r#"{"n":7}"#),
        (r#"{"n": 7.0}"#, r#"{"n":7.0}"#),
    ] {
        let ran = Counter::default();
        let answer =
            door([echo(&ran, false)]).call(&request("probe", arguments), Asked::Nobody).await.unwrap();
        assert_eq!((answer.text.as_ref(), ran.get()), (seen, 1));
    }
}

// L-04
#[tokio::test]
async fn arguments_over_the_byte_cap_are_refused_before_they_are_parsed() {
    let limits = Limits { max_argument_bytes: NonZeroUsize::new(10).unwrap(), ..Limits::default() };
    let ran = Counter::default();
    let answer = door_with(limits, [echo(&ran, false)])
        .call(&request("probe", "not json, and too long"), Asked::Nobody)
        .await
        .unwrap();
    assert_eq!(answer.report.message, "The arguments have 22 bytes, at most 10 are allowed.");
}

// L-02
/// P-27.
#[tokio::test]
async fn an_unknown_tool_is_answered_with_close_names() {
    let ran = Counter::default();
    let door = door([echo(&ran, false)]);
    let answer = door.call(&request("Prob\u{1b}e", "{}"), Asked::Nobody).await.unwrap();
    assert_eq!(answer.report.outcome, Outcome::UnknownTool);
    assert_eq!(answer.report.message, "no tool is named `Prob\\u{1b}e`.");
    assert_eq!(answer.report.advice.as_deref(), Some("Did you mean `probe`? Use the exact name."));
    let answer = door.call(&request("", "{}"), Asked::Nobody).await.unwrap();
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::UnknownTool, 0));
}

/// P-20, P-21, H-70.
#[tokio::test]
async fn permission_reach_and_consent_decide_whether_a_tool_runs() {
    use Permission::{Allow, Ask, Auto, Deny};
    let yes = Says::new(Ok(Decision::Approve));
    let no = Says::new(Ok(Decision::Deny("not today".into())));
    for (permission, reaches_outside, nobody, operator, approved, denied) in [
        (Auto, false, true, true, true, true),
        (Auto, true, false, true, true, false),
        (Allow, false, true, true, true, true),
        (Allow, true, true, true, true, true),
        (Ask, false, false, true, true, false),
        (Ask, true, false, true, true, false),
        (Deny, false, false, false, false, false),
        (Deny, true, false, false, false, false),
    ] {
        for (asked, runs) in [
            (Asked::Nobody, nobody),
            (Asked::Operator, operator),
            (Asked::Approver(&yes), approved),
            (Asked::Approver(&no), denied),
        ] {
            let ran = Counter::default();
            let door = door([echo(&ran, reaches_outside).with_permission(permission)]);
            let answer = door.call(&request("probe", "{}"), asked).await.unwrap();
            let expected = if runs { Outcome::Ok } else { Outcome::Denied };
            let case = format!("{permission:?} {reaches_outside} {asked:?}");
            assert_eq!((answer.report.outcome, ran.get()), (expected, usize::from(runs)), "{case}");
        }
    }
}

#[tokio::test]
async fn a_denial_names_the_policy_line_that_would_allow_the_call() {
    let line = r#"tools.probe = { permission = "allow" }"#;
    for permission in [Permission::Ask, Permission::Deny] {
        let door = door([echo(&Counter::default(), true).with_permission(permission)]);
        let answer = door.call(&request("probe", "{}"), Asked::Nobody).await.unwrap();
        assert!(
            answer.text.contains("`probe` did not run:") && answer.text.contains(line),
            "{}",
            answer.text
        );
    }
}

/// P-09, P-22.
#[tokio::test]
async fn an_approver_is_shown_a_copy_of_valid_arguments_and_only_of_those() {
    let ran = Counter::default();
    let door = door([echo(&ran, true)]);
    let approver = Says::new(Ok(Decision::Approve));
    door.call(&request("probe", r#"{"n": "1"}"#), Asked::Approver(&approver)).await.unwrap();
    assert!(approver.1.lock().unwrap().is_empty());
    door.call(&request("probe", r#"{"n": 1}"#), Asked::Approver(&approver)).await.unwrap();
    let shown = approver.1.lock().unwrap().pop().unwrap();
    assert_eq!((shown.arguments, shown.tool.as_str()), (json!({"n": 1}), "probe"));
    assert_eq!(ran.get(), 1);
}

/// P-16.
#[tokio::test]
async fn an_approver_that_fails_is_an_error_and_the_tool_does_not_run() {
    let ran = Counter::default();
    let approver = Says::new(Err(ApproverError("gone".into())));
    let error = door([echo(&ran, true)]).call(&request("probe", "{}"), Asked::Approver(&approver)).await;
    assert_eq!((error.unwrap_err().to_string().as_str(), ran.get()), ("approver failed: gone", 0));
}

#[test]
fn an_approval_holds_for_these_arguments_and_this_definition_only() {
    let door = door([echo(&Counter::default(), true)]);
    let Admission::Ask(pending) = door.admit(&request("probe", r#"{"n": 1}"#), Consent::Later) else {
        panic!()
    };
    let given = Consent::Given(pending.approval);
    // The same arguments in another spelling are the same arguments.
    assert!(matches!(door.admit(&request("probe", r#"{ "n" : 1 }"#), given), Admission::Ready(_)));
    let Admission::Refused(answer) = door.admit(&request("probe", r#"{"n": 2}"#), given) else { panic!() };
    assert_eq!(answer.report.outcome, Outcome::Denied);
    assert!(answer.report.message.contains("approved with another definition or other arguments"));
}

#[test]
fn every_attempt_takes_a_call_from_the_budget_and_an_approval_takes_no_second_one() {
    let door = door([echo(&Counter::default(), true)]);
    let budget = Budget::root(BudgetLimits { calls: Some(2), ..BudgetLimits::default() });
    let mut request = request("probe", "{}");
    request.budget = budget.clone();
    let Admission::Ask(pending) = door.admit(&request, Consent::Later) else { panic!() };
    assert!(matches!(door.admit(&request, Consent::Given(pending.approval)), Admission::Ready(_)));
    request.tool = "missing".into();
    let Admission::Refused(answer) = door.admit(&request, Consent::Nobody) else { panic!() };
    assert_eq!(answer.report.outcome, Outcome::UnknownTool);
    let Admission::Refused(answer) = door.admit(&request, Consent::Nobody) else { panic!() };
    assert_eq!(answer.report.outcome, Outcome::Quota);
}

//! Calls outside of a run that somebody is asked about.

use hotcell_core::approval::Decision;
use hotcell_core::budget::{Budget, BudgetLimits};
use hotcell_core::outcome::Outcome;
use hotcell_core::policy::Permission;
use serde_json::json;

use super::support::{Counter, Says, door, echo, request};
use crate::door::{Asked, SessionGrants};

/// H-70.
#[tokio::test]
async fn outside_of_a_run_other_arguments_are_checked_and_run_and_the_answer_says_so() {
    let ran = Counter::default();
    let door = door([echo(&ran, true)]);
    let approver = Says::new(Ok(Decision::Edit(json!({"n": 2}))));
    let mut request = request("probe", r#"{"n": 1}"#);
    request.budget = Budget::root(BudgetLimits { calls: Some(1), ..BudgetLimits::default() });
    let answer = door.call(&request, Asked::Approver(&approver)).await.unwrap();
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::Ok, 1), "one attempt of the budget");
    let note = "note: an approver changed the arguments of this call to {\"n\":2}";
    assert_eq!(answer.text.as_ref(), format!("{note}\n{{\"n\":2}}"));
    request.budget = Budget::root(BudgetLimits::default());
    for bad in [json!({"n": "two"}), json!({"other": 1}), json!([]), json!(null)] {
        let approver = Says::new(Ok(Decision::Edit(bad)));
        let answer = door.call(&request, Asked::Approver(&approver)).await.unwrap();
        assert_eq!((answer.report.outcome, ran.get()), (Outcome::InvalidArgs, 1));
        assert!(answer.text.starts_with("note: an approver changed"), "{}", answer.text);
    }
}

/// H-70.
#[tokio::test]
async fn outside_of_a_run_nothing_waits_for_a_decision_that_is_left_for_later() {
    let ran = Counter::default();
    let approver = Says::new(Ok(Decision::Suspend));
    let answer =
        door([echo(&ran, true)]).call(&request("probe", "{}"), Asked::Approver(&approver)).await.unwrap();
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::ApprovalRequired, 0));
    assert!(answer.text.contains("`probe` did not run"), "{}", answer.text);
}

/// H-70.
#[tokio::test]
async fn outside_of_a_run_an_approval_for_the_session_lasts_as_long_as_the_door_or_its_grants() {
    let ran = Counter::default();
    let grants = SessionGrants::new();
    let approver = Says::new(Ok(Decision::ApproveForSession));
    let first = door([echo(&ran, true)]).session_grants(grants.clone());
    for arguments in [r#"{"n": 1}"#, r#"{"n": 2}"#] {
        first.call(&request("probe", arguments), Asked::Approver(&approver)).await.unwrap();
    }
    assert_eq!((ran.get(), approver.1.lock().unwrap().len(), grants.len()), (2, 1, 1));
    // Another door with the same grants asks nobody; one without them does, and denies.
    let call = request("probe", "{}");
    let second = door([echo(&ran, true)]).session_grants(grants.clone());
    assert_eq!(second.call(&call, Asked::Nobody).await.unwrap().report.outcome, Outcome::Ok);
    let answer = door([echo(&ran, true)]).call(&call, Asked::Nobody).await.unwrap();
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::Denied, 3));
    let denies = door([echo(&ran, true).with_permission(Permission::Deny)]).session_grants(grants.clone());
    let answer = denies.call(&call, Asked::Approver(&approver)).await.unwrap();
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::Denied, 3));
    grants.clear();
    assert_eq!(first.call(&call, Asked::Nobody).await.unwrap().report.outcome, Outcome::Denied);
}

//! Permission, reach, consent and what was approved before, in every combination.

use std::sync::Arc;

use hotcell_core::approval::{Approver, ApproverError, Decision};
use hotcell_core::outcome::Outcome;
use hotcell_core::policy::Permission;

use super::support::{Counter, Says, door, echo, request};
use crate::door::{Admission, Asked, Consent, SessionGrants};

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Who {
    Nobody,
    Operator,
    Approves,
    Denies,
    Leaves,
    Fails,
}

/// What has to come of a call; nothing is an approver's error.
fn expected(permission: Permission, reaches: bool, granted: bool, who: Who) -> Option<Outcome> {
    let asks = match permission {
        Permission::Deny => return Some(Outcome::Denied),
        Permission::Allow => false,
        Permission::Ask => true,
        Permission::Auto => reaches,
    };
    if !asks || granted {
        return Some(Outcome::Ok);
    }
    match who {
        Who::Operator | Who::Approves => Some(Outcome::Ok),
        Who::Nobody | Who::Denies => Some(Outcome::Denied),
        Who::Leaves => Some(Outcome::ApprovalRequired),
        Who::Fails => None,
    }
}

/// H-70, P-21.
///
/// Level, reach, approvals for the session and whoever is asked: one expected decision in each cell, and
/// the tool runs in those and only those where it is `ok`.
#[tokio::test]
async fn each_combination_of_permission_grant_and_approver_has_one_decision() {
    // An approval for the session of this very tool, as an approver once gave it.
    let grants = |reaches| {
        let grants = SessionGrants::new();
        let asks = door([echo(&Counter::default(), reaches).with_permission(Permission::Ask)]);
        let Admission::Ask(pending) = asks.admit(&request("probe", "{}"), Consent::Later) else { panic!() };
        grants.remember(&pending.approval);
        grants
    };
    let approver = |who| {
        let decision = match who {
            Who::Nobody | Who::Operator => return None,
            Who::Approves => Ok(Decision::Approve),
            Who::Denies => Ok(Decision::Deny("no".into())),
            Who::Leaves => Ok(Decision::Suspend),
            Who::Fails => Err(ApproverError("gone".into())),
        };
        Some(Arc::new(Says::new(decision)))
    };
    let permissions = [Permission::Auto, Permission::Allow, Permission::Ask, Permission::Deny];
    let whos = [Who::Nobody, Who::Operator, Who::Approves, Who::Denies, Who::Leaves, Who::Fails];
    let mut cells = 0;
    for cell in 0..permissions.len() * whos.len() * 4 {
        let (permission, who) =
            (permissions[cell / 4 % permissions.len()], whos[cell / 4 / permissions.len()]);
        let (reaches, granted) = (cell % 2 == 1, cell / 2 % 2 == 1);
        let case = format!("{permission:?} reaches {reaches} granted {granted} {who:?}");
        let ran = Counter::default();
        let held = if granted { grants(reaches) } else { SessionGrants::new() };
        let door = door([echo(&ran, reaches).with_permission(permission)]).session_grants(held);
        let approver = approver(who);
        let asked = match (&approver, who) {
            (Some(approver), _) => Asked::Approver(approver.as_ref() as &dyn Approver),
            (None, Who::Operator) => Asked::Operator,
            (None, _) => Asked::Nobody,
        };
        let outcome = door.call(&request("probe", "{}"), asked).await.ok();
        let outcome = outcome.map(|answer| answer.report.outcome);
        assert_eq!(outcome, expected(permission, reaches, granted, who), "{case}");
        assert_eq!(ran.get(), usize::from(outcome == Some(Outcome::Ok)), "{case}");
        cells += 1;
    }
    assert_eq!(cells, 96);
}

/// H-70.
///
/// The policy is looked at again right before the tool runs: what was approved when it asked does not
/// run when it denies by then, and needs no approval when it allows.
#[tokio::test]
async fn the_policy_is_looked_at_again_when_an_approval_comes_back() {
    let ran = Counter::default();
    let under = |permission| door([echo(&ran, true).with_permission(permission)]);
    let Admission::Ask(pending) = under(Permission::Ask).admit(&request("probe", "{}"), Consent::Later)
    else {
        panic!()
    };
    let given = Consent::Given(pending.approval);
    for (permission, outcome) in [
        (Permission::Deny, Outcome::Denied),
        (Permission::Ask, Outcome::Ok),
        (Permission::Allow, Outcome::Ok),
    ] {
        let answer = match under(permission).admit(&request("probe", "{}"), given) {
            Admission::Ready(ready) => ready.run().await,
            Admission::Refused(answer) => answer,
            other => panic!("{other:?}"),
        };
        assert_eq!(answer.report.outcome, outcome, "{permission:?}");
    }
    assert_eq!(ran.get(), 2);
}

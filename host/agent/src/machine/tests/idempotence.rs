//! Outcomes that come twice, too late, or for something else.

use hotcell_core::approval::Decision;
use hotcell_core::limits::Limits;

use super::support::{answer, calls, id, machine, model, ms, needs_approval};
use crate::machine::{CommandId, CommandOutcome, RunMachine};
use crate::scripted_model::text_reply;

#[test]
fn an_outcome_that_comes_twice_changes_nothing_and_the_first_one_counts() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(2)), ms(1)).unwrap();
    machine.apply(&id(0, 2), answer("two"), ms(2)).unwrap();
    let before = machine.clone();
    for (command, outcome) in [(id(0, 0), model(text_reply("another"))), (id(0, 2), answer("another"))] {
        let step = machine.apply(&command, outcome, ms(9)).unwrap();
        assert!(step.entries.is_empty());
        assert_eq!(machine, before);
    }
    machine.apply(&id(0, 1), answer("one"), ms(3)).unwrap();
    let before = machine.clone();
    // The turn is over: its commands are past, whatever they were.
    for command in [id(0, 0), id(0, 1), id(0, 2), id(0, 4)] {
        assert!(machine.apply(&command, answer("late"), ms(9)).unwrap().entries.is_empty());
        assert_eq!(machine, before);
    }
}

#[test]
fn a_decision_that_comes_twice_changes_nothing() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(1)), ms(1)).unwrap();
    machine.apply(&id(0, 1), needs_approval(), ms(2)).unwrap();
    machine.apply(&id(0, 2), CommandOutcome::Approval(Ok(Decision::Approve)), ms(3)).unwrap();
    let before = machine.clone();
    let denial = CommandOutcome::Approval(Ok(Decision::Deny("no".into())));
    assert!(machine.apply(&id(0, 2), denial, ms(4)).unwrap().entries.is_empty());
    assert_eq!(machine, before);
    machine.mark_started(&id(0, 1), ms(5)).unwrap();
    let before = machine.clone();
    assert!(machine.mark_started(&id(0, 1), ms(6)).unwrap().entries.is_empty());
    assert_eq!(machine.batch(), before.batch());
}

#[test]
fn a_question_that_comes_twice_is_not_asked_again_whatever_was_decided() {
    for decision in [
        Decision::Approve,
        Decision::ApproveForSession,
        Decision::Edit(serde_json::json!({"a": 1})),
        Decision::Deny("no".into()),
        Decision::Suspend,
    ] {
        let mut machine = machine(Limits::default());
        machine.apply(&id(0, 0), model(calls(2)), ms(1)).unwrap();
        machine.apply(&id(0, 1), needs_approval(), ms(2)).unwrap();
        machine.apply(&id(0, 3), CommandOutcome::Approval(Ok(decision)), ms(3)).unwrap();
        let before = machine.clone();
        assert!(machine.apply(&id(0, 1), needs_approval(), ms(4)).unwrap().entries.is_empty());
        assert_eq!(machine, before);
    }
}

#[test]
fn outcomes_nobody_asked_for_are_refused_and_change_nothing() {
    let mut machine = machine(Limits::default());
    let before = machine.clone();
    let other = CommandId { run: hotcell_core::ids::RunId::parse("other").unwrap(), turn: 0, n: 0 };
    for (command, outcome, message) in [
        (other, answer("x"), "`other:0:0` is a command of another run than `run`"),
        (id(0, 1), answer("x"), "`run:0:1` is no command of this run"),
        (id(1, 0), answer("x"), "`run:1:0` is no command of this run"),
        (id(0, 0), answer("x"), "`run:0:0` cannot take a tool answer; it is waiting for a model reply"),
    ] {
        assert_eq!(machine.apply(&command, outcome, ms(1)).unwrap_err().to_string(), message);
        assert_eq!(machine, before);
    }
    machine.apply(&id(0, 0), model(calls(1)), ms(1)).unwrap();
    machine.apply(&id(0, 1), needs_approval(), ms(1)).unwrap();
    let error = machine.apply(&id(0, 1), answer("x"), ms(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`run:0:1` cannot take a tool answer; it is a call that waits for a decision"
    );
}

#[test]
fn time_never_runs_backwards() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(2)), ms(10)).unwrap();
    machine.apply(&id(0, 1), answer("x"), ms(5)).unwrap();
    assert_eq!(machine.head().elapsed, ms(10));
}

#[test]
fn stored_runs_of_another_version_or_with_missing_parts_are_refused() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(1)), ms(1)).unwrap();
    let good = serde_json::to_value(&machine).unwrap();
    for (pointer, value, message) in [
        ("/head/version", serde_json::json!(2), "version 2"),
        ("/head/messages", serde_json::json!(9), "other messages"),
        ("/head/running", serde_json::json!(1), "started calls"),
        ("/batch/0/id", serde_json::json!("run:5:1"), "present turn"),
        ("/batch/0/id", serde_json::json!("nonsense"), "not a command id"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        let error = serde_json::from_value::<RunMachine>(bad).unwrap_err().to_string();
        assert!(error.contains(message), "{pointer}: {error}");
    }
}

#[test]
fn command_ids_read_from_the_right_because_run_ids_may_hold_colons() {
    let id: CommandId = "a:b:3:14".parse().unwrap();
    assert_eq!((id.run.as_str(), id.turn, id.n), ("a:b", 3, 14));
    assert_eq!(id.to_string(), "a:b:3:14");
    for bad in ["", "a", "a:1", ":1:2", "a:1:x", "a:-1:2"] {
        assert!(bad.parse::<CommandId>().is_err(), "{bad}");
    }
}

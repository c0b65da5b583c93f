//! Budgets, time, cancellation, and which of them wins.

use std::num::NonZeroU32;
use std::time::Duration;

use hotcell_core::approval::Decision;
use hotcell_core::limits::{Limits, OnTurnLimit};
use hotcell_core::outcome::Outcome;
use serde_json::json;

use super::support::{
    answer, calls, command_ids, failed, id, input, machine, model, ms, needs_approval, result_ids, results,
    setup,
};
use crate::machine::{CommandOutcome, Interrupt, RunInput, RunMachine, RunSetup, SetupError, SkipReason};
use crate::scripted_model::text_reply;
use crate::status::{ErrorKind, RunErrorInfo, RunStatus, StopReason};

fn budget(calls: u32) -> Limits {
    Limits { max_tool_calls: NonZeroU32::new(calls), ..Limits::default() }
}

fn end(machine: &RunMachine) -> (RunStatus, Option<StopReason>) {
    (machine.head().status, machine.head().stop.clone())
}

/// P-08, P-33, P-40.
#[test]
fn a_batch_over_the_budget_is_refused_whole_and_consumes_nothing() {
    let mut machine = machine(budget(1));
    machine.apply(&id(0, 0), model(calls(2)), ms(1)).unwrap();
    assert_eq!(end(&machine), (RunStatus::Stopped, Some(StopReason::MaxToolCalls)));
    assert_eq!(machine.head().tool_calls, 0);
    assert_eq!(result_ids(&machine), ["c1", "c2"]);
    assert!(results(&machine).iter().all(|(_, outcome, _)| outcome.is_none()));
}

/// P-39.
#[test]
fn denied_unknown_and_invalid_calls_consume_the_budget() {
    let mut machine = machine(budget(3));
    machine.apply(&id(0, 0), model(calls(3)), ms(1)).unwrap();
    for (n, outcome) in [(1, Outcome::Denied), (2, Outcome::UnknownTool), (3, Outcome::InvalidArgs)] {
        machine.apply(&id(0, n), failed(outcome), ms(2)).unwrap();
    }
    assert_eq!(machine.head().tool_calls, 3);
    machine.apply(&id(1, 0), model(calls(1)), ms(3)).unwrap();
    assert_eq!(end(&machine), (RunStatus::Stopped, Some(StopReason::MaxToolCalls)));
    assert_eq!(machine.head().tool_calls, 3);
}

#[test]
fn a_batch_larger_than_a_turn_may_have_is_refused_whole_and_the_run_goes_on() {
    let limits = Limits { max_tool_calls_per_turn: NonZeroU32::new(2).unwrap(), ..Limits::default() };
    let mut machine = machine(limits);
    machine.apply(&id(0, 0), model(calls(3)), ms(1)).unwrap();
    assert_eq!(result_ids(&machine), ["c1", "c2", "c3"]);
    assert!(results(&machine)[0].2.contains("more calls than one turn may have"));
    assert_eq!((machine.head().tool_calls, command_ids(&machine)), (0, vec!["run:1:0".to_owned()]));
}

/// P-32.
#[test]
fn the_turn_limit_stops_or_fails_after_the_tools_of_the_last_turn_ran() {
    for (on_turn_limit, status) in
        [(OnTurnLimit::Stop, RunStatus::Stopped), (OnTurnLimit::Fail, RunStatus::Failed)]
    {
        let mut machine =
            machine(Limits { max_turns: NonZeroU32::new(1), on_turn_limit, ..Limits::default() });
        machine.apply(&id(0, 0), model(calls(1)), ms(1)).unwrap();
        machine.apply(&id(0, 1), answer("ran"), ms(2)).unwrap();
        assert_eq!(end(&machine), (status, Some(StopReason::MaxTurns)));
        assert_eq!((machine.output(), results(&machine)[0].2.as_str()), (None, "ran"));
        let kind = machine.head().error.as_ref().map(|error| error.kind);
        assert_eq!(kind, (status == RunStatus::Failed).then_some(ErrorKind::MaxTurns));
    }
}

fn timed(milliseconds: u64) -> Limits {
    Limits { max_time: Some(ms(milliseconds)), ..Limits::default() }
}

/// P-34.
#[test]
fn a_reply_that_comes_too_late_runs_no_tools() {
    let mut machine = machine(timed(500));
    machine.apply(&id(0, 0), model(calls(2)), ms(500)).unwrap();
    assert_eq!(end(&machine), (RunStatus::Stopped, Some(StopReason::Deadline)));
    assert_eq!((result_ids(&machine).len(), machine.head().tool_calls), (2, 0));
}

/// P-34.
#[test]
fn an_answer_that_comes_too_late_is_kept_and_checked() {
    let with_schema = RunSetup { output_schema: Some(json!({"type": "integer"})), ..setup(timed(500)) };
    let (mut machine, _) = RunMachine::start(with_schema, input()).unwrap();
    machine.apply(&id(0, 0), model(text_reply("7")), ms(501)).unwrap();
    assert_eq!(end(&machine), (RunStatus::Stopped, Some(StopReason::Deadline)));
    assert_eq!((machine.output().as_deref(), machine.data()), (Some("7"), Some(json!(7))));
}

/// P-40.
#[test]
fn a_call_whose_approval_outlasts_the_time_is_skipped_and_has_consumed_one() {
    let mut machine = machine(timed(500));
    machine.apply(&id(0, 0), model(calls(2)), ms(1)).unwrap();
    machine.apply(&id(0, 1), needs_approval(), ms(2)).unwrap();
    machine.apply(&id(0, 3), CommandOutcome::Approval(Ok(Decision::Approve)), ms(600)).unwrap();
    assert_eq!(end(&machine), (RunStatus::Stopped, Some(StopReason::Deadline)));
    assert_eq!(machine.head().tool_calls, 1);
    assert!(results(&machine).iter().all(|(_, outcome, _)| outcome.is_none()));
}

/// P-35.
#[test]
fn a_cancellation_skips_what_was_not_started_and_waits_for_what_was() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(2)), ms(1)).unwrap();
    machine.mark_started(&id(0, 1), ms(2)).unwrap();
    machine.interrupt(Interrupt::Cancelled, ms(3));
    assert!(!machine.is_ended());
    assert_eq!(command_ids(&machine), ["run:0:1"]);
    machine.apply(&id(0, 1), failed(Outcome::Cancelled), ms(4)).unwrap();
    assert_eq!(end(&machine), (RunStatus::Cancelled, Some(StopReason::Cancelled)));
    let [first, second] = results(&machine).try_into().unwrap();
    assert_eq!((first.1, second.1), (Some(Outcome::Cancelled), None));
    assert_eq!((second.2.as_str(), machine.head().tool_calls), ("not run: the run was cancelled", 1));
}

#[test]
fn nothing_is_started_in_a_run_that_is_ending() {
    let mut machine = machine(timed(500));
    machine.apply(&id(0, 0), model(calls(2)), ms(1)).unwrap();
    machine.mark_started(&id(0, 1), ms(2)).unwrap();
    machine.mark_started(&id(0, 2), ms(500)).unwrap();
    assert_eq!(machine.tool(&id(0, 2)).unwrap().skipped, Some(SkipReason::Deadline));
    machine.apply(&id(0, 1), CommandOutcome::Withdrawn, ms(501)).unwrap();
    assert_eq!(machine.tool(&id(0, 1)).unwrap().skipped, Some(SkipReason::Deadline));
    assert!(machine.is_ended());
}

// Cancelled before deadline before max_tool_calls.
/// P-35.
#[test]
fn the_strongest_reason_names_the_end() {
    let limits = Limits { max_tool_calls: NonZeroU32::new(1), ..timed(500) };
    let mut late = machine(limits);
    late.apply(&id(0, 0), model(calls(2)), ms(700)).unwrap();
    assert_eq!(late.head().stop, Some(StopReason::Deadline));

    let failed_sink = || Interrupt::Failed(RunErrorInfo::new(ErrorKind::EventSink, "gone"));
    for (interrupts, status) in [
        (vec![Interrupt::Deadline, Interrupt::Cancelled], RunStatus::Cancelled),
        (vec![Interrupt::Cancelled, Interrupt::Deadline], RunStatus::Cancelled),
        (vec![Interrupt::Cancelled, failed_sink()], RunStatus::Failed),
        (vec![failed_sink(), Interrupt::Cancelled], RunStatus::Failed),
    ] {
        let mut machine = machine(Limits::default());
        machine.apply(&id(0, 0), model(calls(1)), ms(1)).unwrap();
        machine.mark_started(&id(0, 1), ms(2)).unwrap();
        for interrupt in interrupts {
            machine.interrupt(interrupt, ms(3));
        }
        machine.apply(&id(0, 1), answer("ran"), ms(4)).unwrap();
        assert_eq!(machine.head().status, status);
    }
}

#[test]
fn a_run_that_ended_changes_only_when_its_last_event_is_lost() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(text_reply("done")), ms(1)).unwrap();
    machine.interrupt(Interrupt::Cancelled, ms(2));
    assert_eq!(machine.head().status, RunStatus::Completed);
    machine.interrupt(Interrupt::Failed(RunErrorInfo::new(ErrorKind::EventSink, "gone")), ms(3));
    assert_eq!(machine.head().status, RunStatus::Failed);
    assert_eq!(machine.output().as_deref(), Some("done"));
}

/// P-67.
#[test]
fn limits_that_make_no_sense_are_refused() {
    for limits in [
        Limits { max_time: Some(Duration::ZERO), ..Limits::default() },
        Limits { host_tool_timeout: Duration::ZERO, ..Limits::default() },
    ] {
        assert!(matches!(RunMachine::start(setup(limits), input()), Err(SetupError::Config(_))));
    }
    for text in [
        r#"{"max_turns": 0}"#,
        r#"{"max_turns": -1}"#,
        r#"{"max_turns": true}"#,
        r#"{"max_tool_calls": 1.5}"#,
        r#"{"max_time_ms": NaN}"#,
    ] {
        assert!(serde_json::from_str::<Limits>(text).is_err(), "{text}");
    }
    let long = hotcell_core::ids::RunId::parse("r".repeat(161)).unwrap();
    let error = RunMachine::start(RunSetup { run: long, ..setup(Limits::default()) }, input()).unwrap_err();
    assert_eq!(error.to_string(), "run id has 161 bytes, at most 160 are allowed");
    let silent = RunInput { prompt: Vec::new(), ..input() };
    assert!(matches!(RunMachine::start(setup(Limits::default()), silent), Err(SetupError::EmptyPrompt)));
}

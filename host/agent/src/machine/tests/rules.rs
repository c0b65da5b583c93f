//! Turns, batches, ids, approvals.

use hotcell_core::approval::{ApproverError, Decision};
use hotcell_core::limits::Limits;
use hotcell_core::message::{Message, Transcript};
use hotcell_core::model::{ModelError, ReplyStop, ToolChoice};
use hotcell_core::outcome::Outcome;
use serde_json::json;

use super::support::{
    answer, calls, command_ids, first_command, id, input, machine, model, ms, needs_approval, result_ids,
    results, setup,
};
use crate::machine::{Command, CommandOutcome, Entry, EntryStatus, RunInput, RunMachine, RunSetup};
use crate::scripted_model::{call_reply, text_reply};
use crate::status::{ErrorKind, RunStatus, StopReason};

#[test]
fn a_run_without_history_begins_with_the_system_message_and_the_prompt() {
    let (machine, step) = RunMachine::start(setup(Limits::default()), input()).unwrap();
    let expected = [Message::System { text: "be brief".into() }, Message::user("go")];
    assert_eq!(machine.transcript(), &expected.into_iter().collect());
    assert_eq!(step.entries.len(), 2);
    assert_eq!(command_ids(&machine), ["run:0:0"]);
}

/// P-04, P-57.
#[test]
fn a_history_is_taken_as_it_is_and_never_changed() {
    let history: Transcript = [Message::user("before")].into_iter().collect();
    let with_history = || RunInput { history: history.clone(), ..input() };
    let (mut machine, _) = RunMachine::start(setup(Limits::default()), with_history()).unwrap();
    machine.apply(&id(0, 0), model(text_reply("done")), ms(1)).unwrap();
    assert_eq!(history.len(), 1);
    let roles = machine.transcript().messages();
    assert!(!roles.iter().any(|message| matches!(message.as_ref(), Message::System { .. })));
    assert_eq!(machine.transcript().len(), 3);
    // A second run over the same history starts its counters afresh.
    let (second, _) = RunMachine::start(setup(Limits::default()), with_history()).unwrap();
    assert_eq!((second.head().turns, second.head().tool_calls), (0, 0));
    assert_eq!(second.transcript().len(), 2);
}

#[test]
fn a_system_message_in_the_middle_of_a_history_is_refused() {
    let history = [Message::user("a"), Message::System { text: "obey".into() }].into_iter().collect();
    let error = RunMachine::start(setup(Limits::default()), RunInput { history, ..input() }).unwrap_err();
    assert_eq!(error.to_string(), "message 1 of the history is a system message; only the first may be one");
}

/// P-31.
#[test]
fn a_reply_without_calls_completes_the_run_also_when_it_is_empty() {
    for text in [Some("done".to_owned()), Some(String::new()), None] {
        let mut machine = machine(Limits::strict());
        let reply = hotcell_core::model::ModelReply { text: text.clone(), ..text_reply("") };
        machine.apply(&id(0, 0), model(reply), ms(1)).unwrap();
        assert_eq!(machine.head().status, RunStatus::Completed);
        assert_eq!(machine.head().stop, Some(StopReason::EndTurn));
        assert_eq!(machine.output(), text);
        assert!(machine.is_ended() && machine.commands().next().is_none());
    }
}

/// P-12, H-01.
#[test]
fn results_stand_in_call_order_whatever_order_they_came_in() {
    let mut machine = machine(Limits::default());
    let mut reply = calls(3);
    reply.stop = ReplyStop::EndTurn;
    machine.apply(&id(0, 0), model(reply), ms(1)).unwrap();
    assert_eq!(command_ids(&machine), ["run:0:1", "run:0:2", "run:0:3"]);
    machine.apply(&id(0, 3), answer("third"), ms(2)).unwrap();
    assert_eq!(machine.tool(&id(0, 3)).unwrap().status, EntryStatus::RawCompleted);
    machine.apply(&id(0, 1), answer("first"), ms(3)).unwrap();
    assert_eq!(result_ids(&machine), ["c1"]);
    machine.apply(&id(0, 2), answer("second"), ms(4)).unwrap();
    assert_eq!(result_ids(&machine), ["c1", "c2", "c3"]);
    assert_eq!(command_ids(&machine), ["run:1:0"]);
}

/// P-11.
#[test]
fn duplicate_and_empty_ids_fail_the_run_before_anything_runs() {
    for (reply, message) in [
        (call_reply([("x", "a", "{}"), ("x", "a", "{}")]), "two calls of the reply have the id `x`"),
        (call_reply([("x", "a", "{}"), ("", "a", "{}")]), "call 2 of the reply has an empty id"),
    ] {
        let mut machine = machine(Limits::default());
        let step = machine.apply(&id(0, 0), model(reply), ms(1)).unwrap();
        let error = machine.head().error.clone().unwrap();
        assert_eq!(error.kind, ErrorKind::MalformedReply);
        assert!(error.message.starts_with(message), "{error}");
        assert!(step.entries.is_empty() && machine.commands().next().is_none());
        assert_eq!(machine.transcript().len(), 2, "the transcript is whole without the reply");
    }
}

/// P-14, P-15.
#[test]
fn a_model_error_fails_the_run_and_keeps_the_transcript() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(1)), ms(1)).unwrap();
    machine.apply(&id(0, 1), answer("done"), ms(2)).unwrap();
    let error = ModelError::Provider { message: "down".into(), status: Some(429) };
    machine.apply(&id(1, 0), CommandOutcome::Model(Err(error.clone())), ms(3)).unwrap();
    let head = machine.head();
    assert_eq!((head.status, head.stop.clone()), (RunStatus::Failed, Some(StopReason::Error)));
    assert_eq!(head.error.as_ref().unwrap().kind, ErrorKind::RateLimited);
    assert_eq!(head.error.as_ref().unwrap().cause, Some(error));
    assert_eq!(machine.transcript().len(), 4);
}

/// H-01, H-44.
#[test]
fn calls_of_cut_and_refused_replies_are_answered_and_never_run() {
    for (stop, reason) in [
        (ReplyStop::MaxTokens, StopReason::MaxTokens),
        (ReplyStop::Refusal, StopReason::Refusal),
        (ReplyStop::Safety, StopReason::Safety),
    ] {
        let mut machine = machine(Limits { max_truncation_recoveries: 0, ..Limits::default() });
        let mut reply = calls(2);
        reply.stop = stop;
        machine.apply(&id(0, 0), model(reply), ms(1)).unwrap();
        assert_eq!(machine.head().stop, Some(reason));
        assert_eq!(result_ids(&machine), ["c1", "c2"]);
        assert!(
            results(&machine)
                .iter()
                .all(|(_, outcome, text)| outcome.is_none() && text.starts_with("not run:"))
        );
        assert_eq!(machine.head().tool_calls, 0);
    }
}

/// P-09, P-21.
#[test]
fn an_approved_call_runs_with_its_approval_and_a_denied_one_is_answered() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(2)), ms(1)).unwrap();
    for n in [1, 2] {
        machine.apply(&id(0, n), needs_approval(), ms(2)).unwrap();
    }
    assert_eq!(command_ids(&machine), ["run:0:3", "run:0:4"], "approvals have ids of their own");
    machine.apply(&id(0, 3), CommandOutcome::Approval(Ok(Decision::Approve)), ms(3)).unwrap();
    let Command::CallTool { id: call, approval, started, .. } = first_command(&machine) else { panic!() };
    assert_eq!((call, approval.is_some(), started), (id(0, 1), true, false));
    let denial = Decision::Deny("not today\n".into());
    machine.apply(&id(0, 4), CommandOutcome::Approval(Ok(denial)), ms(4)).unwrap();
    machine.apply(&id(0, 1), answer("ran"), ms(5)).unwrap();
    let [first, second] = results(&machine).try_into().unwrap();
    assert_eq!(first.2, "ran");
    assert_eq!(second.1, Some(Outcome::Denied));
    assert!(second.2.contains("`a` did not run: it was not approved: not today\\u{a}."), "{}", second.2);
}

/// P-16.
#[test]
fn an_approver_that_fails_ends_the_run_and_nothing_later_runs() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(3)), ms(1)).unwrap();
    machine.apply(&id(0, 1), answer("ran"), ms(2)).unwrap();
    machine.apply(&id(0, 2), needs_approval(), ms(3)).unwrap();
    let error = CommandOutcome::Approval(Err(ApproverError("gone".into())));
    machine.apply(&id(0, 5), error, ms(4)).unwrap();
    assert_eq!(machine.head().error.as_ref().unwrap().kind, ErrorKind::Approval);
    assert_eq!(result_ids(&machine), ["c1", "c2", "c3"]);
    assert_eq!(results(&machine)[2].2, "not run: the run failed before this call");
}

#[test]
fn a_lost_call_is_uncertain_and_the_model_is_told_so() {
    let mut machine = machine(Limits::default());
    machine.apply(&id(0, 0), model(calls(1)), ms(1)).unwrap();
    machine.mark_started(&id(0, 1), ms(2)).unwrap();
    let Command::CallTool { started, .. } = first_command(&machine) else { panic!() };
    assert!(started, "a driver that starts again can see that the tool may have run");
    let step = machine.apply(&id(0, 1), CommandOutcome::Lost, ms(3)).unwrap();
    let Some(Entry::Answer { tool, .. }) = step.entries.last() else { panic!("{step:?}") };
    assert_eq!(tool.status, EntryStatus::Uncertain);
    assert!(results(&machine)[0].2.contains("its outcome is not known"));
    assert_eq!(machine.head().status, RunStatus::Running);
}

/// P-59.
#[test]
fn idempotency_keys_hold_the_id_of_the_call_or_its_digest() {
    let long = "x".repeat(300);
    let mut machine = machine(Limits::default());
    let reply = call_reply([("plain", "a", "{}"), (long.as_str(), "a", "{}"), ("a\nb", "a", "{}")]);
    machine.apply(&id(0, 0), model(reply), ms(1)).unwrap();
    let keys: Vec<String> = machine
        .commands()
        .filter_map(|command| match command {
            Command::CallTool { idempotency_key, .. } => Some(idempotency_key.to_string()),
            Command::CallModel { .. } | Command::FinishCall { .. } | Command::AskApproval { .. } => None,
        })
        .collect();
    assert_eq!(keys[0], "run:0:plain");
    let hex = hotcell_core::ids::Digest::of(long.as_bytes()).to_hex();
    assert_eq!(keys[1], format!("run:0:{hex}"));
    assert!(!keys[2].contains('\n'));
}

/// P-07, P-30, P-36, P-48, P-49.
#[test]
fn an_answer_is_held_to_the_output_schema() {
    let schema =
        json!({"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]});
    for (text, data) in [
        (r#"{"value": 4}"#, Some(json!({"value": 4}))),
        ("not json", None),
        (r#"{"value": "4"}"#, None),
        (r#"{"value": NaN}"#, None),
        ("```json\n{\"value\": 4}\n```", None),
    ] {
        let with_schema = RunSetup { output_schema: Some(schema.clone()), ..setup(Limits::default()) };
        let (mut machine, _) = RunMachine::start(with_schema, input()).unwrap();
        machine.apply(&id(0, 0), model(text_reply(text)), ms(1)).unwrap();
        let stop = if data.is_some() { StopReason::EndTurn } else { StopReason::InvalidOutput };
        assert_eq!((machine.head().stop.clone(), machine.data()), (Some(stop), data), "{text}");
        assert_eq!(machine.output().as_deref(), Some(text));
    }
    let bad = RunSetup { output_schema: Some(json!({"type": 3})), ..setup(Limits::default()) };
    assert!(RunMachine::start(bad, input()).is_err());
}

/// H-20.
#[test]
fn the_final_answer_is_asked_for_without_tools_and_its_calls_are_not_run() {
    let limits = Limits { max_turns: std::num::NonZeroU32::new(2), ..Limits::default() };
    let mut machine = machine(limits);
    for turn in [0, 1] {
        machine.apply(&id(turn, 0), model(calls(1)), ms(1)).unwrap();
        machine.apply(&id(turn, 1), answer("ran"), ms(1)).unwrap();
    }
    let Command::CallModel { id: last, tool_choice, .. } = first_command(&machine) else { panic!() };
    assert_eq!((last.clone(), tool_choice), (id(2, 0), ToolChoice::None));
    let mut with_text = calls(1);
    with_text.text = Some("this far".into());
    machine.apply(&last, model(with_text), ms(2)).unwrap();
    assert_eq!(
        (machine.head().status, machine.head().stop.clone()),
        (RunStatus::Completed, Some(StopReason::MaxTurns))
    );
    assert_eq!((machine.head().turns, machine.head().tool_calls), (3, 2));
    assert_eq!(machine.output().as_deref(), Some("this far"));
    assert!(results(&machine)[2].2.starts_with("not run: the turns were used up"));
}

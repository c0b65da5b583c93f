//! Runs that are stored and loaded between any two transitions.

use std::sync::Arc;

use hotcell_core::approval::{ApproverError, Decision};
use hotcell_core::call::CallReport;
use hotcell_core::limits::{Limits, OnTurnLimit};
use hotcell_core::message::{Message, ToolCall, Transcript};
use hotcell_core::model::{ModelError, ModelReply, ReplyStop};
use hotcell_core::outcome::Outcome;
use proptest::prelude::*;
use serde_json::json;

use super::support::{
    Store, answer, calls, failed, id, input, machine, model, ms, needs_approval, setup, through_json,
};
use crate::machine::{
    Command, CommandId, CommandOutcome, Entry, EntryStatus, Interrupt, RunInput, RunMachine, Step,
};
use crate::scripted_model::text_reply;
use crate::status::{ErrorKind, RunErrorInfo};

/// One decision of a driver that does things in any order.
#[derive(Debug, Clone)]
enum Move {
    /// Gives the command at this place (modulo how many there are) some outcome.
    Serve {
        place: usize,
        outcome: Served,
    },
    Interrupt(u8),
    Stand(u8),
    /// Gives an earlier outcome once more.
    Repeat(usize),
}

#[derive(Debug, Clone)]
enum Served {
    Good,
    Bad(u8),
    Start,
    Ask,
    Deny,
    Lost,
    /// Changes what it can: a call before it runs, its arguments when it is approved, its result.
    Change,
    /// Leaves it for later, or half done.
    Later,
}

fn outcome_of(
    machine: &RunMachine,
    command: &Command,
    served: &Served,
    calls_in_reply: usize,
) -> CommandOutcome {
    match (command, served) {
        (Command::CallModel { .. }, Served::Bad(0)) => {
            CommandOutcome::Model(Err(ModelError::Provider { message: "down".into(), status: None }))
        }
        (Command::CallModel { .. }, Served::Bad(kind)) => model(bad_reply(*kind, calls_in_reply)),
        (Command::CallModel { .. }, Served::Change) => model(text_reply(" ")),
        (Command::CallModel { .. }, Served::Later) => {
            CommandOutcome::Model(Err(ModelError::UnreadableCall { message: "half of one".into() }))
        }
        (Command::CallModel { .. }, Served::Deny) => model(text_reply("done")),
        (Command::CallModel { .. }, _) => model(calls(calls_in_reply)),
        (Command::CallTool { started: true, .. }, Served::Lost) => CommandOutcome::Lost,
        (Command::CallTool { started: true, .. }, Served::Deny) if machine.head().interrupt.is_some() => {
            CommandOutcome::Withdrawn
        }
        (Command::CallTool { started: false, .. }, Served::Ask) => needs_approval(),
        (Command::CallTool { started: true, .. }, Served::Later) => {
            CommandOutcome::Raw(Arc::new(CallReport::text("raw")))
        }
        (Command::CallTool { id, call, started: false, .. }, Served::Change)
            if machine.tool(id).is_some_and(|tool| tool.rewritten.is_none()) =>
        {
            CommandOutcome::Rewritten(ToolCall { name: "b".into(), ..call.as_ref().clone() })
        }
        (Command::CallTool { .. }, Served::Bad(kind)) => {
            failed(Outcome::ALL[usize::from(*kind) % Outcome::ALL.len()])
        }
        (Command::CallTool { .. }, _) => answer("good"),
        (Command::AskApproval { .. }, Served::Bad(0)) => {
            CommandOutcome::Approval(Err(ApproverError("gone".into())))
        }
        (Command::AskApproval { .. }, Served::Deny | Served::Bad(_)) => {
            CommandOutcome::Approval(Ok(Decision::Deny("no".into())))
        }
        (Command::AskApproval { .. }, Served::Change) => {
            CommandOutcome::Approval(Ok(Decision::Edit(json!({"edited": true}))))
        }
        (Command::AskApproval { .. }, Served::Later) => CommandOutcome::Approval(Ok(Decision::Suspend)),
        (Command::AskApproval { .. }, _) => CommandOutcome::Approval(Ok(Decision::Approve)),
        (Command::FinishCall { .. }, _) => answer("finished"),
    }
}

/// A reply that is cut, filtered, paused, or whose ids are no ids.
fn bad_reply(kind: u8, calls_in_reply: usize) -> ModelReply {
    let whole = calls(calls_in_reply);
    let text = match kind % 3 {
        0 => None,
        _ => Some("some text".to_owned()),
    };
    match kind % 7 {
        0 => ModelReply { stop: ReplyStop::MaxTokens, ..whole },
        1 => ModelReply { stop: ReplyStop::Safety, ..whole },
        2 => ModelReply { stop: ReplyStop::PauseTurn, ..whole },
        3 => ModelReply { stop: ReplyStop::MaxTokens, calls: Vec::new(), text, ..whole },
        4 => ModelReply { stop: ReplyStop::PauseTurn, calls: Vec::new(), text, ..whole },
        5 => crate::scripted_model::call_reply([("same", "a", "{}"), ("same", "a", "{}")]),
        _ => crate::scripted_model::call_reply([("", "a", "{}")]),
    }
}

/// Drives three copies of a run: one in memory, one through JSON after every transition, and one
/// rebuilt by a store that saw only entries and heads. They have to stay equal.
fn drive(limits: Limits, history: &Transcript, moves: &[(Move, usize)]) -> RunMachine {
    let start = RunInput { history: history.clone(), ..input() };
    let (mut plain, first) = RunMachine::start(setup(limits), start).unwrap();
    let mut store = Store::new(&plain, &first, history);
    let mut applied: Vec<(CommandId, CommandOutcome)> = Vec::new();
    for (at, (a_move, calls_in_reply)) in (1_u64..).zip(moves) {
        let mut json = through_json(&plain);
        let mut rebuilt = store.rebuild();
        assert_eq!(json, plain, "JSON keeps everything");
        assert_eq!(rebuilt, plain, "entries and heads keep everything");
        let elapsed = ms(at * 10);
        let commands: Vec<Command> = plain.commands().collect();
        assert_eq!(commands.is_empty(), plain.is_ended(), "a run waits for something until it ends");
        let served = match a_move {
            Move::Serve { place, outcome } if !commands.is_empty() => {
                let command = &commands[place % commands.len()];
                let starts =
                    matches!((command, outcome), (Command::CallTool { started: false, .. }, Served::Start));
                let outcome = (!starts).then(|| outcome_of(&plain, command, outcome, *calls_in_reply));
                Some((command.id().clone(), outcome))
            }
            Move::Serve { .. } | Move::Interrupt(_) | Move::Stand(_) | Move::Repeat(_) => None,
        };
        let step = |machine: &mut RunMachine| -> Step {
            match a_move {
                Move::Serve { .. } if served.is_some() => match served.clone().unwrap() {
                    (id, None) => machine.mark_started(&id, elapsed).unwrap(),
                    (id, Some(outcome)) => machine.apply(&id, outcome, elapsed).unwrap(),
                },
                Move::Interrupt(kind) => {
                    let interrupt = match kind % 3 {
                        0 => Interrupt::Deadline,
                        1 => Interrupt::Cancelled,
                        _ => Interrupt::Failed(RunErrorInfo::new(ErrorKind::EventSink, "gone")),
                    };
                    machine.interrupt(interrupt, elapsed)
                }
                Move::Stand(kind) => match kind % 4 {
                    0 => machine.suspend(elapsed),
                    1 => machine.pause(elapsed),
                    2 => machine.resume(),
                    _ => machine.ask_again(),
                },
                Move::Repeat(place) if !applied.is_empty() => {
                    let (id, outcome) = &applied[place % applied.len()];
                    let before = machine.clone();
                    let step = machine.apply(id, outcome.clone(), elapsed).unwrap();
                    assert!(step.entries.is_empty());
                    assert_eq!(*machine, before, "an outcome counts once");
                    step
                }
                Move::Serve { .. } | Move::Repeat(_) => {
                    Step { entries: Vec::new(), notices: Vec::new(), head: machine.head().clone() }
                }
            }
        };
        let taken = step(&mut plain);
        assert_eq!(step(&mut json), taken);
        assert_eq!(step(&mut rebuilt), taken);
        assert_eq!((&json, &rebuilt), (&plain, &plain));
        store.take(&serde_json::from_str(&serde_json::to_string(&taken).unwrap()).unwrap());
        // A call can be withdrawn, and left for later, more than once.
        if let Some((id, Some(outcome))) = served
            && !matches!(outcome, CommandOutcome::Withdrawn | CommandOutcome::Approval(Ok(Decision::Suspend)))
        {
            applied.push((id, outcome));
        }
        check_transcript(&plain);
        check_budgets(&plain);
    }
    plain
}

/// P-12: one answer for each call, in call order, and nothing between; open calls only at the end of
/// a run that goes on.
fn check_transcript(machine: &RunMachine) {
    let mut open: Vec<String> = Vec::new();
    for message in machine.transcript().messages() {
        match message.as_ref() {
            Message::Tool { call_id, .. } => assert_eq!(open.remove(0), *call_id),
            other => {
                assert!(open.is_empty(), "{open:?} before {other:?}");
                if let Message::Assistant { calls, .. } = other {
                    open = calls.iter().map(|call| call.id.clone()).collect();
                }
            }
        }
    }
    assert!(open.is_empty() || !machine.is_ended(), "{open:?}");
}

/// No more is run and asked than the limits say.
fn check_budgets(machine: &RunMachine) {
    let (head, limits) = (machine.head(), &machine.setup().limits);
    if let Some(max) = limits.max_tool_calls {
        assert!(head.tool_calls <= max.get(), "{} calls of {max}", head.tool_calls);
    }
    if let Some(max) = limits.max_turns {
        assert!(head.turns <= max.get() + 1, "{} turns of {max}, and one for a final account", head.turns);
    }
    let running = machine.batch().iter().filter(|tool| tool.status == EntryStatus::Started).count();
    assert_eq!(running, head.running);
    assert!(machine.batch().len() <= usize::try_from(limits.max_tool_calls_per_turn.get()).unwrap().max(6));
    assert!(!(machine.is_ended() && machine.stands_still()));
}

fn served() -> impl Strategy<Value = Served> {
    prop_oneof![
        4 => Just(Served::Good),
        2 => any::<u8>().prop_map(Served::Bad),
        3 => Just(Served::Start),
        2 => Just(Served::Ask),
        1 => Just(Served::Deny),
        1 => Just(Served::Lost),
        2 => Just(Served::Change),
        2 => Just(Served::Later),
    ]
}

fn a_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        16 => (any::<usize>(), served()).prop_map(|(place, outcome)| Move::Serve { place, outcome }),
        1 => any::<u8>().prop_map(Move::Interrupt),
        2 => any::<u8>().prop_map(Move::Stand),
        3 => any::<usize>().prop_map(Move::Repeat),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let on_turn_limit =
        prop_oneof![Just(OnTurnLimit::FinalAnswer), Just(OnTurnLimit::Stop), Just(OnTurnLimit::Fail)];
    (0_u32..5, 0_u32..12, 1_u32..6, on_turn_limit, 0_u64..600).prop_map(
        |(turns, calls, per_turn, on_turn_limit, time)| Limits {
            max_turns: std::num::NonZeroU32::new(turns),
            max_tool_calls: std::num::NonZeroU32::new(calls),
            max_tool_calls_per_turn: std::num::NonZeroU32::new(per_turn).unwrap(),
            on_turn_limit,
            max_time: (time > 200).then(|| ms(time)),
            ..Limits::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// P-12.
    #[test]
    fn a_run_that_is_stored_and_loaded_after_every_transition_ends_the_same(
        limits in limits(),
        with_history in any::<bool>(),
        moves in prop::collection::vec((a_move(), 1_usize..7), 1..60),
    ) {
        let history = if with_history { [Message::user("before")].into_iter().collect() } else { Transcript::new() };
        let machine = drive(limits, &history, &moves);
        prop_assert!(machine.transcript().len() > history.len());
    }
}

#[test]
fn what_a_turn_writes_does_not_grow_with_the_run() {
    let limits = Limits { max_turns: None, ..Limits::default() };
    let mut machine = machine(limits);
    let mut bytes = Vec::new();
    for turn in 0..2_000 {
        let mut written = 0;
        let mut steps = vec![machine.apply(&id(turn, 0), model(calls(2)), ms(1)).unwrap()];
        for n in [1, 2] {
            steps.push(machine.mark_started(&id(turn, n), ms(1)).unwrap());
            steps.push(machine.apply(&id(turn, n), answer("ran"), ms(1)).unwrap());
        }
        let messages: usize = steps
            .iter()
            .flat_map(|step| &step.entries)
            .filter(|entry| !matches!(entry, Entry::Tool { .. }))
            .count();
        assert_eq!(messages, 3, "one reply and two answers, whatever came before");
        for step in &steps {
            written += serde_json::to_string(step).unwrap().len();
        }
        assert_eq!(machine.batch().len(), 0, "a finished batch is not carried along");
        bytes.push(written);
    }
    assert_eq!(machine.transcript().len(), 2 + 3 * 2_000);
    let (early, late) = (bytes[10], *bytes.last().unwrap());
    assert!(late < early + early / 10, "turn 10 wrote {early} bytes, turn 1999 wrote {late}");
}

#[test]
fn a_transcript_is_shared_with_requests_and_not_copied() {
    let mut machine = machine(Limits::default());
    let request = machine.transcript().clone();
    machine.apply(&id(0, 0), model(calls(1)), ms(1)).unwrap();
    assert_eq!(request.len(), 2, "a request keeps what it was made of");
    for index in 0..2 {
        let (kept, live) = (request.get(index).unwrap(), machine.transcript().get(index).unwrap());
        assert!(Arc::ptr_eq(&kept, &live));
    }
}

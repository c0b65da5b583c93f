//! The same run twice: by the driver, and by hand with a trip through JSON after every transition.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use hotcell_core::approval::Decision;
use hotcell_core::call::Caller;
use hotcell_core::ids::RunId;
use hotcell_core::limits::Limits;
use hotcell_core::message::Transcript;
use hotcell_core::model::{Model as _, ModelEvent, ModelReply, ModelRequest};

use super::support::{Approves, Counter, add, harness, request, script, touch};
use crate::clock::TokioClock;
use crate::door::{Admission, Consent, Door, DoorRequest};
use crate::machine::{Command, CommandOutcome, RunInput, RunMachine, RunSetup};
use crate::scripted_model::{call_reply, text_reply};
use crate::tool_set::ToolSet;

fn replies() -> Vec<ModelReply> {
    vec![
        call_reply([("a", "add", r#"{"a": 1, "b": 2}"#), ("b", "nope", "{}"), ("c", "touch", "{}")]),
        call_reply([("a", "add", "not json"), ("d", "touch", ""), ("e", "add", r#"{"a": "x"}"#)]),
        text_reply("3, and touched twice"),
    ]
}

/// Stores the run and loads it again.
fn reload(machine: &mut RunMachine) {
    let stored = serde_json::to_string(machine).unwrap();
    let loaded: RunMachine = serde_json::from_str(&stored).unwrap();
    assert_eq!(loaded, *machine);
    *machine = loaded;
}

/// A driver that forgets everything but the stored run.
async fn by_hand(tools: Arc<ToolSet>) -> (RunMachine, usize) {
    let model = script(replies());
    let setup = RunSetup::new(RunId::parse("run").unwrap(), Limits::default());
    let prompt = request("go").prompt;
    let input = RunInput { system: None, history: Transcript::new(), prompt };
    let (mut machine, _) = RunMachine::start(setup, input).unwrap();
    let door = Door::new(Arc::clone(&tools), Arc::new(Limits::default()), Arc::new(TokioClock));
    let mut transitions = 0;
    while !machine.is_ended() {
        reload(&mut machine);
        transitions += 1;
        let command = machine.commands().next().unwrap();
        let id = command.id().clone();
        let outcome = match command {
            Command::CallModel { tool_choice, .. } => {
                let transcript = machine.transcript().clone();
                let tools = tools.definitions();
                let request = ModelRequest {
                    transcript,
                    tools,
                    tool_choice,
                    max_output_tokens: None,
                    temperature: None,
                };
                let Some(Ok(ModelEvent::Reply(reply))) = model.stream(request).next().await else { panic!() };
                CommandOutcome::Model(Ok(reply))
            }
            Command::AskApproval { .. } => CommandOutcome::Approval(Ok(Decision::Approve)),
            Command::FinishCall { .. } => panic!("there are no middlewares"),
            Command::CallTool { call, approval, .. } => {
                let call_id = id.to_call_id().unwrap();
                let request = DoorRequest::new(Caller::local(), call_id, &call.name, &call.arguments);
                match door.admit(&request, approval.map_or(Consent::Later, Consent::Given)) {
                    Admission::Refused(answer) | Admission::Repeated(answer) => CommandOutcome::Tool(answer),
                    Admission::Ask(pending) => CommandOutcome::NeedsApproval(pending),
                    Admission::Ready(ready) => {
                        machine.mark_started(&id, Duration::ZERO).unwrap();
                        reload(&mut machine);
                        CommandOutcome::Tool(ready.run().await)
                    }
                }
            }
        };
        machine.apply(&id, outcome, Duration::ZERO).unwrap();
    }
    reload(&mut machine);
    (machine, transitions)
}

#[tokio::test]
async fn a_run_stored_and_loaded_after_every_transition_ends_like_one_that_never_was() {
    let driven = Counter::default();
    let approver = Arc::new(Approves(Duration::ZERO, Ok(Decision::Approve)));
    let harness = harness(script(replies()), [add(), touch(&driven)]);
    let result = harness.run(request("go").approver(approver)).await.unwrap();

    let reloaded = Counter::default();
    let tools = ToolSet::new([add(), touch(&reloaded)]).unwrap();
    let (machine, transitions) = by_hand(Arc::new(tools)).await;

    assert_eq!(machine.transcript(), &result.transcript);
    assert_eq!((machine.head().status, machine.output()), (result.status, result.output));
    assert_eq!((machine.head().turns, machine.head().tool_calls), (result.turns, result.tool_calls));
    assert_eq!((driven.get(), reloaded.get()), (2, 2));
    // Three replies, six calls, and for each of the two that ask a decision and a second visit.
    assert_eq!(transitions, 3 + 6 + 2 * 2);
}

//! What the machine tests share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hotcell_core::approval::{Approval, ApprovalRequest};
use hotcell_core::call::{CallReport, Caller};
use hotcell_core::content::Block;
use hotcell_core::ids::{CallId, Digest, RunId, ToolName};
use hotcell_core::limits::Limits;
use hotcell_core::message::{Message, Transcript};
use hotcell_core::model::ModelReply;
use hotcell_core::outcome::Outcome;
use serde_json::json;

use crate::answer::Answer;
use crate::machine::{
    Command, CommandId, CommandOutcome, Entry, Head, Parts, PendingApproval, RunInput, RunMachine, RunSetup,
    Step, ToolEntry,
};

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(super) fn id(turn: u32, n: u32) -> CommandId {
    CommandId { run: RunId::parse("run").unwrap(), turn, n }
}

pub(super) fn setup(limits: Limits) -> RunSetup {
    RunSetup::new(RunId::parse("run").unwrap(), limits)
}

pub(super) fn input() -> RunInput {
    RunInput { system: Some("be brief".into()), history: Transcript::new(), prompt: vec![Block::text("go")] }
}

pub(super) fn machine(limits: Limits) -> RunMachine {
    RunMachine::start(setup(limits), input()).unwrap().0
}

pub(super) fn answer(text: &str) -> CommandOutcome {
    CommandOutcome::Tool(Answer::new(CallReport::text(text), 100))
}

pub(super) fn failed(outcome: Outcome) -> CommandOutcome {
    CommandOutcome::Tool(Answer::new(CallReport::new(outcome, "no"), 100))
}

pub(super) fn model(reply: ModelReply) -> CommandOutcome {
    CommandOutcome::Model(Ok(reply))
}

/// A reply with this many calls, named `a`, with the ids `c1`, `c2`, ...
pub(super) fn calls(count: usize) -> ModelReply {
    let ids: Vec<String> = (1..=count).map(|n| format!("c{n}")).collect();
    crate::scripted_model::call_reply(ids.iter().map(|id| (id.as_str(), "a", "{}")))
}

pub(super) fn needs_approval() -> CommandOutcome {
    let digest = Digest::of(b"shown");
    let request = ApprovalRequest {
        caller: Caller::local(),
        call: CallId::parse("run:0:1").unwrap(),
        tool: ToolName::parse("a").unwrap(),
        component: None,
        definition: digest,
        arguments: json!({}),
        policy_line: "tools.a = { permission = \"allow\" }".into(),
    };
    let approval = Approval { component: None, definition: digest, grants: None, arguments: digest };
    CommandOutcome::NeedsApproval(PendingApproval { request: Arc::new(request), approval })
}

pub(super) fn command_ids(machine: &RunMachine) -> Vec<String> {
    machine.commands().map(|command| command.id().to_string()).collect()
}

pub(super) fn first_command(machine: &RunMachine) -> Command {
    machine.commands().next().unwrap()
}

/// The tool results in the transcript: id, outcome, text.
pub(super) fn results(machine: &RunMachine) -> Vec<(String, Option<Outcome>, String)> {
    machine
        .transcript()
        .messages()
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::Tool { call_id, outcome, content, .. } => {
                let text: Vec<_> = content.iter().map(Block::to_text).collect();
                Some((call_id.clone(), *outcome, text.join("|")))
            }
            _ => None,
        })
        .collect()
}

pub(super) fn result_ids(machine: &RunMachine) -> Vec<String> {
    results(machine).into_iter().map(|(id, _, _)| id).collect()
}

/// What a store would keep: only what the steps say, never the machine itself.
pub(super) struct Store {
    setup: Arc<RunSetup>,
    head: Head,
    messages: Vec<Arc<Message>>,
    tools: BTreeMap<CommandId, Arc<ToolEntry>>,
}

impl Store {
    pub(super) fn new(machine: &RunMachine, first: &Step, history: &Transcript) -> Self {
        let mut store = Self {
            setup: Arc::clone(machine.setup()),
            head: first.head.clone(),
            messages: history.messages(),
            tools: BTreeMap::new(),
        };
        store.take(first);
        store
    }

    pub(super) fn take(&mut self, step: &Step) {
        for entry in &step.entries {
            match entry {
                Entry::Message { index, message } => self.push(*index, message),
                Entry::Tool { tool } => {
                    self.tools.insert(tool.id.clone(), Arc::clone(tool));
                }
                Entry::Answer { index, message, tool } => {
                    self.push(*index, message);
                    self.tools.insert(tool.id.clone(), Arc::clone(tool));
                }
            }
        }
        self.head = step.head.clone();
    }

    fn push(&mut self, index: usize, message: &Arc<Message>) {
        assert_eq!(index, self.messages.len(), "a store only ever appends");
        self.messages.push(Arc::clone(message));
    }

    pub(super) fn rebuild(&self) -> RunMachine {
        let turn = self.head.turn;
        let batch = self.tools.values().filter(|tool| tool.id.turn == turn).cloned().collect();
        let transcript = self.messages.iter().map(|message| message.as_ref().clone()).collect();
        let parts = Parts { setup: Arc::clone(&self.setup), head: self.head.clone(), transcript, batch };
        RunMachine::from_parts(parts).unwrap()
    }
}

/// The machine after a trip through JSON text.
pub(super) fn through_json(machine: &RunMachine) -> RunMachine {
    serde_json::from_str(&serde_json::to_string(machine).unwrap()).unwrap()
}

//! Histories that vendors would refuse: they are mended in what is sent, and stay as they are.

use std::sync::Arc;

use hotcell_core::content::Block;
use hotcell_core::message::{Message, ToolCall, Transcript};
use hotcell_core::outcome::Outcome;
use proptest::prelude::*;

use super::support::{add, harness, request, script};
use crate::harness::outbound::Outbound;
use crate::scripted_model::text_reply;

fn says(text: &str) -> Message {
    Message::Assistant { text: Some(text.into()), calls: Vec::new() }
}

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall { id: (*id).into(), name: "add".into(), arguments: "{}".into() };
    Message::Assistant { text: None, calls: ids.iter().map(call).collect() }
}

fn answers(id: &str, text: &str) -> Message {
    Message::Tool {
        call_id: id.into(),
        name: "add".into(),
        outcome: Some(Outcome::Ok),
        content: vec![Block::text(text)],
    }
}

/// A message as one short text.
fn short(message: &Message) -> String {
    let texts = |content: &[Block]| content.iter().map(Block::to_text).collect::<Vec<_>>().join("+");
    match message {
        Message::System { text } => format!("system {text}"),
        Message::User { content } => format!("user {}", texts(content)),
        Message::Assistant { text, calls } => {
            let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
            format!("model {}[{}]", text.as_deref().unwrap_or(""), ids.join(" "))
        }
        Message::Tool { call_id, content, .. } => format!("tool {call_id} {}", texts(content)),
        other => format!("{other:?}"),
    }
}

fn sent(history: &Transcript) -> Vec<String> {
    let mended = Outbound::default().of(history);
    mended.messages().iter().map(|message| short(message)).collect()
}

/// P-58.
#[tokio::test]
async fn a_call_without_an_answer_is_sent_with_one_and_the_history_stays_as_it_is() {
    let model = script([text_reply("done")]);
    let history: Transcript =
        [Message::user("before"), calls(&["c1", "c2"]), answers("c2", "two")].into_iter().collect();
    let before = history.messages();
    let harness = harness(Arc::clone(&model) as _, [add()]);
    let result = harness.run(request("go").history(&history)).await.unwrap().into_result().unwrap();
    let sent = model.requests()[0].transcript.messages();
    let missing = "no result was recorded for this call; find out what happened before calling again";
    let expected = ["user before", "model [c1 c2]", &format!("tool c1 {missing}"), "tool c2 two", "user go"];
    assert_eq!(sent.iter().map(|message| short(message)).collect::<Vec<_>>(), expected);
    assert_eq!(history.messages(), before);
    assert_eq!(result.transcript.messages()[..3], before[..], "what is kept is what was given");
    assert_eq!(result.transcript.len(), 5);
}

#[test]
fn what_vendors_refuse_is_mended() {
    let user = || Message::user("u");
    let mend = |messages: Vec<Message>| sent(&messages.into_iter().collect());
    assert_eq!(mend(vec![user(), Message::user("v")]), ["user u+v"]);
    assert_eq!(mend(vec![user(), says("a"), says("b")]), ["user u", "model ab[]"]);
    assert_eq!(
        mend(vec![user(), says(" "), says("b")]),
        ["user u", "model b[]"],
        "empty replies are left out"
    );
    assert_eq!(
        mend(vec![user(), answers("c1", "x"), says("a")]),
        ["user u", "model a[]"],
        "it answers no call"
    );
    assert_eq!(
        mend(vec![user(), calls(&["c1"]), answers("c1", "old"), answers("c1", "new")]),
        ["user u", "model [c1]", "tool c1 new"],
        "the later of two answers counts"
    );
    assert_eq!(
        mend(vec![user(), calls(&["c1", "c2"]), answers("c2", "two"), answers("c1", "one")]),
        ["user u", "model [c1 c2]", "tool c1 one", "tool c2 two"],
        "results stand in the order of their calls"
    );
    assert_eq!(
        mend(vec![user(), calls(&["c1"]), answers("c1", "one"), user(), answers("c1", "late")]).len(),
        4,
        "a result answers a call of the reply just before it"
    );
}

fn a_message() -> impl Strategy<Value = Message> {
    let ids = prop::sample::subsequence(vec!["c1", "c2", "c3"], 0..=3);
    prop_oneof![
        Just(Message::user("u")),
        prop_oneof![Just(" "), Just("said")].prop_map(says),
        ids.prop_map(|ids| calls(&ids)),
        prop_oneof![Just("c1"), Just("c2"), Just("c9")].prop_map(|id| answers(id, "result")),
    ]
}

/// What every vendor asks for.
fn check(sent: &Transcript) {
    let mut open: Vec<String> = Vec::new();
    let mut last = "";
    for message in sent.messages() {
        let role = match message.as_ref() {
            Message::Tool { call_id, .. } => {
                assert_eq!(open.remove(0), *call_id, "each call is answered, in order");
                last = "tool";
                continue;
            }
            Message::Assistant { calls, text } => {
                assert!(!calls.is_empty() || !text.as_deref().unwrap_or("").trim().is_empty());
                assert!(open.is_empty());
                open = calls.iter().map(|call| call.id.clone()).collect();
                "model"
            }
            _ => "user",
        };
        assert!(role == "model" || open.is_empty(), "nothing comes between a call and its answer");
        assert!(role != last || role == "model" && !open.is_empty(), "two neighbours of {role}");
        last = role;
    }
    assert!(open.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// P-58.
    #[test]
    fn whatever_a_history_holds_what_is_sent_keeps_the_rules(
        messages in prop::collection::vec(a_message(), 0..16),
    ) {
        let history: Transcript = messages.into_iter().collect();
        let before = history.messages();
        let whole = Outbound::default().of(&history);
        check(&whole);
        prop_assert_eq!(history.messages(), before);
        // A run that grows message by message sends the same in the end.
        let (mut growing, mut outbound) = (Transcript::new(), Outbound::default());
        for message in history.messages() {
            growing.push_shared(message);
        }
        outbound.of(&growing.first(growing.len() / 2));
        let mended = outbound.of(&growing);
        check(&mended);
    }
}

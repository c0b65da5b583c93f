//! The conversation as it is sent: what vendors refuse is mended here, and the transcript stays as it is.

use std::sync::Arc;

use hotcell_core::content::Block;
use hotcell_core::message::{Message, Transcript};

/// What a model reads in place of a result that was never recorded.
const NOT_RECORDED: &str =
    "no result was recorded for this call; find out what happened before calling again";

/// The conversation as it is sent.
///
/// A transcript without a fault is shared with the run. From the first fault on a mended copy goes on
/// beside it, so that the cost of a request does not depend on how long the conversation is, unless it
/// has just been mended.
///
/// Mended are: replies that say nothing are left out; neighbours of one role are joined; a result that
/// answers no call of the reply before it is left out; of two results of one call the later counts; a
/// call without a result gets one that says so.
#[derive(Debug, Default)]
pub(super) struct Outbound {
    /// Messages of the stored transcript that were looked at.
    seen: usize,
    /// The mended copy, once there is one.
    mended: Option<Transcript>,
    batch: Vec<Open>,
    last: Last,
}

/// A call of the newest reply, and its result.
#[derive(Debug)]
struct Open {
    id: String,
    name: String,
    answer: Option<Arc<Message>>,
}

/// What stands at the end of the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    System,
    User,
    Text,
    Calls,
}

impl Outbound {
    /// The conversation to send: the stored one, mended where it has to be.
    pub(super) fn of(&mut self, stored: &Transcript) -> Transcript {
        while let Some(message) = stored.get(self.seen) {
            let before = self.seen;
            self.seen += 1;
            self.take(stored, before, &message);
        }
        self.close(stored, self.seen);
        self.mended.as_ref().unwrap_or(stored).clone()
    }

    fn take(&mut self, stored: &Transcript, place: usize, message: &Arc<Message>) {
        if let Message::Tool { call_id, .. } = message.as_ref() {
            return self.take_result(stored, place, call_id, message);
        }
        self.close(stored, place);
        match message.as_ref() {
            Message::Assistant { text, calls } => {
                if calls.is_empty() && text.as_deref().is_none_or(|text| text.trim().is_empty()) {
                    self.mend(stored, place);
                    return;
                }
                self.join_or_push(stored, place, message, Last::Text);
                if !calls.is_empty() {
                    let open = |call: &hotcell_core::message::ToolCall| Open {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        answer: None,
                    };
                    self.batch = calls.iter().map(open).collect();
                    self.last = Last::Calls;
                }
            }
            Message::User { .. } => self.join_or_push(stored, place, message, Last::User),
            // A system message, and whatever the core may add later, is sent as it is.
            _ => {
                self.push(message);
                self.last = Last::System;
            }
        }
    }

    fn take_result(&mut self, stored: &Transcript, place: usize, call_id: &str, message: &Arc<Message>) {
        let answered = self.batch.iter().position(|open| open.answer.is_none());
        let of_call = self.batch.iter().position(|open| open.id == *call_id);
        match of_call {
            // The usual case: results stand in the order of their calls.
            Some(call) if answered == Some(call) => {}
            // Out of order, a second one, or of no call at all.
            Some(_) | None => self.mend(stored, self.before_results(stored, place)),
        }
        if let Some(open) = of_call.and_then(|call| self.batch.get_mut(call)) {
            open.answer = Some(Arc::clone(message));
        }
    }

    /// The place of the first result of the newest reply; they are held until all are there.
    fn before_results(&self, stored: &Transcript, place: usize) -> usize {
        let is_result = |at: &usize| {
            stored.get(*at).is_some_and(|message| matches!(message.as_ref(), Message::Tool { .. }))
        };
        let held = if self.batch.is_empty() { 0 } else { (0..place).rev().take_while(is_result).count() };
        place - held
    }

    /// Sends the results of the newest reply, in call order, with one for each call that has none.
    fn close(&mut self, stored: &Transcript, place: usize) {
        if self.batch.iter().any(|open| open.answer.is_none()) {
            self.mend(stored, self.before_results(stored, place));
        }
        for open in std::mem::take(&mut self.batch) {
            let message = open.answer.unwrap_or_else(|| {
                Arc::new(Message::Tool {
                    call_id: open.id,
                    name: open.name,
                    outcome: Some(hotcell_core::outcome::Outcome::Internal),
                    content: vec![Block::text(NOT_RECORDED)],
                })
            });
            self.push(&message);
        }
    }

    fn join_or_push(&mut self, stored: &Transcript, place: usize, message: &Arc<Message>, role: Last) {
        if self.last != role {
            self.push(message);
            self.last = role;
            return;
        }
        self.mend(stored, place);
        let Some(mended) = &mut self.mended else { return };
        let joined = mended.last().and_then(|last| join(&last, message));
        if let Some(joined) = joined {
            mended.replace_last(joined);
        }
    }

    /// From here on a copy is kept that begins with the first messages of the stored transcript.
    fn mend(&mut self, stored: &Transcript, place: usize) {
        if self.mended.is_none() {
            self.mended = Some(stored.first(place));
        }
    }

    fn push(&mut self, message: &Arc<Message>) {
        if let Some(mended) = &mut self.mended {
            mended.push_shared(Arc::clone(message));
        }
    }
}

/// Two messages of one role as one.
fn join(first: &Message, second: &Message) -> Option<Message> {
    match (first, second) {
        (Message::User { content: first }, Message::User { content: second }) => {
            Some(Message::User { content: first.iter().chain(second).cloned().collect() })
        }
        // The second goes on where the first stopped, so nothing comes in between.
        (Message::Assistant { text: first, .. }, Message::Assistant { text: second, calls }) => {
            let text = [first, second].into_iter().flatten().map(String::as_str).collect::<String>();
            Some(Message::Assistant { text: (!text.is_empty()).then_some(text), calls: calls.clone() })
        }
        _ => None,
    }
}

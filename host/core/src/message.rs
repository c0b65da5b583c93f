//! Messages of a conversation and the transcript that holds them.

use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::content::Block;
use crate::outcome::Outcome;

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What the operator tells the model.
    System {
        /// The text.
        text: String,
    },
    /// What a person says.
    User {
        /// The content.
        content: Vec<Block>,
    },
    /// What the model said.
    Assistant {
        /// The text, when there is any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The tool calls it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The result of one tool call.
    Tool {
        /// The id of the call it answers, as the model gave it.
        call_id: String,
        /// The name of the tool.
        name: String,
        /// The code the call ended with; `None` when it was never dispatched.
        outcome: Option<Outcome>,
        /// What the model reads.
        content: Vec<Block>,
    },
}

impl Message {
    /// A user message with one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![Block::text(text)] }
    }

    /// Whether the message is a tool result that reports a failure.
    #[must_use]
    pub fn is_tool_error(&self) -> bool {
        matches!(self, Self::Tool { outcome, .. } if *outcome != Some(Outcome::Ok))
    }
}

/// One tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id the model gave; unique inside of one reply.
    pub id: String,
    /// The name it wrote.
    pub name: String,
    /// The arguments as text, not yet parsed; empty means `{}`.
    pub arguments: String,
}

/// An append-only list of messages whose clones share what they have in common.
///
/// Cloning is O(1); appending is O(1) unless another clone appended first, which copies once.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    shared: Arc<RwLock<Vec<Arc<Message>>>>,
    len: usize,
}

impl Transcript {
    /// An empty transcript.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many messages it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a message at the end; clones made earlier do not see it.
    pub fn push(&mut self, message: Message) {
        self.push_shared(Arc::new(message));
    }

    /// Like [`Transcript::push`], of a message that is shared already.
    pub fn push_shared(&mut self, message: Arc<Message>) {
        let mut messages = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        if messages.len() == self.len {
            messages.push(message);
        } else {
            let mut own: Vec<_> = messages.iter().take(self.len).cloned().collect();
            own.push(message);
            drop(messages);
            self.shared = Arc::new(RwLock::new(own));
        }
        self.len += 1;
    }

    /// The first `len` messages; all of them when there are fewer. Cheap, like a clone.
    #[must_use]
    pub fn first(&self, len: usize) -> Self {
        Self { shared: Arc::clone(&self.shared), len: len.min(self.len) }
    }

    /// Puts another message in the place of the newest one. The list is copied: clones keep the old one.
    pub fn replace_last(&mut self, message: Message) {
        if let Some(before) = self.len.checked_sub(1) {
            let mut own: Vec<_> = self.messages();
            own.truncate(before);
            own.push(Arc::new(message));
            self.shared = Arc::new(RwLock::new(own));
        }
    }

    /// Whether both are one list of one length, which is known without looking at a message.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) && self.len == other.len
    }

    /// The message at this place.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Arc<Message>> {
        if index >= self.len {
            return None;
        }
        self.shared.read().unwrap_or_else(PoisonError::into_inner).get(index).cloned()
    }

    /// The newest message.
    #[must_use]
    pub fn last(&self) -> Option<Arc<Message>> {
        self.get(self.len.checked_sub(1)?)
    }

    /// All messages, oldest first.
    #[must_use]
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.shared.read().unwrap_or_else(PoisonError::into_inner).iter().take(self.len).cloned().collect()
    }
}

impl PartialEq for Transcript {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.messages() == other.messages()
    }
}

impl FromIterator<Message> for Transcript {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
        Self { len: messages.len(), shared: Arc::new(RwLock::new(messages)) }
    }
}

impl Serialize for Transcript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.messages().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Transcript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Message>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_and_never_see_each_others_additions() {
        let mut first = Transcript::new();
        first.push(Message::user("1"));
        let mut second = first.clone();
        first.push(Message::user("2"));
        second.push(Message::user("3"));
        assert_eq!(first.last().unwrap().as_ref(), &Message::user("2"));
        assert_eq!(second.last().unwrap().as_ref(), &Message::user("3"));
        assert!(Arc::ptr_eq(&first.get(0).unwrap(), &second.get(0).unwrap()));
        assert_eq!((first.len(), second.len()), (2, 2));
    }

    #[test]
    fn the_start_of_a_transcript_and_a_replaced_end_leave_the_others_as_they_are() {
        let whole: Transcript = ["1", "2", "3"].map(Message::user).into_iter().collect();
        let mut other = whole.first(2);
        other.replace_last(Message::user("two"));
        other.push(Message::user("three"));
        let texts = |transcript: &Transcript| -> Vec<_> {
            transcript.messages().iter().map(|message| message.as_ref().clone()).collect()
        };
        assert_eq!(texts(&other), ["1", "two", "three"].map(Message::user));
        assert_eq!(texts(&whole), ["1", "2", "3"].map(Message::user));
        assert_eq!(whole.first(9).len(), 3);
    }

    #[test]
    fn a_transcript_is_a_plain_list_in_json() {
        let transcript: Transcript = [Message::user("hi")].into_iter().collect();
        let text = serde_json::to_string(&transcript).unwrap();
        assert!(text.starts_with('['), "{text}");
        assert_eq!(serde_json::from_str::<Transcript>(&text).unwrap(), transcript);
    }
}

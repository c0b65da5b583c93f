//! One thing that was looked at, and how it is.

use serde::Serialize;

use crate::ending::Complaint;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) state: State,
    pub(super) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// As it should be.
    Good,
    /// Works, with less than there could be.
    Missing,
    /// Something that is needed does not work.
    Failed,
}

impl Check {
    pub(super) fn new(name: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self { name, state, detail: detail.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn failed(name: &'static str, complaint: Complaint) -> Self {
        let help = complaint.help.join("; ");
        let detail = format!("{:#}", anyhow::Error::from(complaint));
        let check = Self::new(name, State::Failed, detail);
        if help.is_empty() { check } else { check.help(help) }
    }
}

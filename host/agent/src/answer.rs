//! What the door hands back for one call.

use std::sync::Arc;

use hotcell_core::call::CallReport;
use hotcell_core::content::Block;
use hotcell_core::ids::ToolName;
use serde::{Deserialize, Serialize};

use crate::oversized::Shaped;
use crate::shape;

/// The end of one call: what the model reads, and the whole report behind it.
///
/// Cloning is cheap; both parts are shared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What the model reads, capped.
    pub text: Arc<str>,
    /// Whether the structured result goes into the message beside the text: it is not the text
    /// already, and it is within the cap.
    pub structured_beside: bool,
    /// How the call ended and what it used.
    pub report: Arc<CallReport>,
    /// What went wrong while the result was shaped: it was cut because it could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Arc<str>>,
    /// The tool that was meant, where the model wrote its name in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// Whether it is the answer an earlier call like this one got; the tool did not run for this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

impl Answer {
    /// Shapes a report into what the model reads, of at most `max_chars` characters and a marker.
    #[must_use]
    pub fn new(report: CallReport, max_chars: usize) -> Self {
        Self {
            text: shape::text(&report, max_chars).into(),
            structured_beside: shape::structured_beside(&report, max_chars),
            report: Arc::new(report),
            warning: None,
            tool: None,
            cached: false,
        }
    }

    /// What was shaped elsewhere; the text is within the limit already.
    pub(crate) fn shaped(report: CallReport, shaped: Shaped, max_chars: usize) -> Self {
        Self {
            text: shaped.text.into(),
            structured_beside: shape::structured_beside(&report, max_chars),
            report: Arc::new(report),
            warning: shaped.warning.map(Into::into),
            tool: None,
            cached: false,
        }
    }

    /// The same answer with a line of the host in front of what the model reads.
    pub(crate) fn with_note(self, note: &str) -> Self {
        Self { text: format!("{note}\n{}", self.text).into(), ..self }
    }

    /// The content of the message that answers the call: the text, and the structured result for
    /// whoever reads values instead of text.
    #[must_use]
    pub fn content(&self) -> Vec<Block> {
        let structured = self.report.structured.as_ref().filter(|_| self.structured_beside);
        let json = structured.map(|value| Block::Json { value: value.clone() });
        std::iter::once(Block::text(self.text.to_string())).chain(json).collect()
    }
}

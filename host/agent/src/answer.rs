//! What the door hands back for one call.

use std::sync::Arc;

use hotcell_core::call::CallReport;
use hotcell_core::content::Block;
use serde::{Deserialize, Serialize};

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
}

impl Answer {
    /// Shapes a report into what the model reads, of at most `max_chars` characters and a marker.
    #[must_use]
    pub fn new(report: CallReport, max_chars: usize) -> Self {
        Self {
            text: shape::text(&report, max_chars).into(),
            structured_beside: shape::structured_beside(&report, max_chars),
            report: Arc::new(report),
        }
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

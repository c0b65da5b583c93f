//! What the door hands back for one call.

use std::sync::Arc;

use hotcell_core::call::CallReport;
use serde::{Deserialize, Serialize};

use crate::shape;

/// The end of one call: what the model reads, and the whole report behind it.
///
/// Cloning is cheap; both parts are shared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What the model reads, capped.
    pub text: Arc<str>,
    /// How the call ended and what it used.
    pub report: Arc<CallReport>,
}

impl Answer {
    /// Shapes a report into what the model reads, of at most `max_chars` characters and a marker.
    #[must_use]
    pub fn new(report: CallReport, max_chars: usize) -> Self {
        Self { text: shape::text(&report, max_chars).into(), report: Arc::new(report) }
    }
}

//! Results that are larger than what the model may read.
//!
//! A list of records keeps every record, with its texts cut to one length. Everything else is shown in part.
//! Either way the whole text is kept where this run can read it, and a note in front says how much is shown and
//! which call reads the rest. What the model gets is never longer than the limit, note included.

mod note;
mod preview;
mod reader;
mod records;
mod search;
mod window;

use std::sync::Arc;
use std::time::Duration;

use hotcell_core::call::CallReport;
use hotcell_core::results::{KeptResults, ResultHandle, ResultStoreError};
use hotcell_core::text::cap_chars;
use tokio_util::sync::CancellationToken;

use self::note::{Note, Shown};
pub use self::reader::{READER_NAME, ReadToolResult};
use crate::clock::Clock;
use crate::shape;

/// How long keeping one result may take, before it is cut instead.
const STORE_TIME: Duration = Duration::from_secs(2);

/// Most characters of a preview.
const PREVIEW_CHARS: usize = 3_000;

/// What the model reads of a result, and what went wrong on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shaped {
    pub(crate) text: String,
    pub(crate) warning: Option<String>,
}

/// Shapes a report for the model, and keeps what is too large for it.
pub(crate) async fn shape(
    report: &CallReport,
    results: &KeptResults,
    cancel: &CancellationToken,
    clock: &dyn Clock,
) -> Shaped {
    let whole = shape::whole(report);
    let max_chars = results.max_chars();
    if whole.chars().nth(max_chars).is_none() {
        return Shaped { text: whole, warning: None };
    }
    let whole: Arc<str> = whole.into();
    match keep(&whole, results, cancel, clock).await {
        Ok(handle) => {
            Shaped { text: shown(&whole, report.outcome.is_ok(), &handle, max_chars), warning: None }
        }
        Err(error) => Shaped {
            text: shape::cap(whole.to_string(), max_chars),
            warning: Some(format!("a result was cut instead of kept: {error}")),
        },
    }
}

async fn keep(
    whole: &Arc<str>,
    results: &KeptResults,
    cancel: &CancellationToken,
    clock: &dyn Clock,
) -> Result<ResultHandle, ResultStoreError> {
    let now = clock.now();
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ResultStoreError("the call was cancelled".to_owned())),
        kept = results.keep(Arc::clone(whole)) => kept,
        () = clock.sleep_until(now.checked_add(STORE_TIME).unwrap_or(now)) => {
            Err(ResultStoreError(format!("the store took longer than {} seconds", STORE_TIME.as_secs())))
        }
    }
}

/// The part of a kept result that is shown, with its note; at most `max_chars` characters.
fn shown(whole: &str, good: bool, handle: &ResultHandle, max_chars: usize) -> String {
    let total = Shown::of(whole);
    if good && let Some(text) = records::fitted(whole, handle, total, max_chars) {
        return text;
    }
    let Some(note) = Note::for_preview(handle, total, max_chars) else {
        // No note fits beside any text, so nothing could be said about the rest.
        return cap_chars(whole, max_chars);
    };
    let room = max_chars.saturating_sub(note.longest() + 1).min(PREVIEW_CHARS);
    let preview = preview::of(whole, good, room);
    format!("{}\n{}", note.text(preview.shown, preview.continue_at), preview.text)
}

#[cfg(test)]
mod tests;

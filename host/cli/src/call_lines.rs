//! The calls of a run: one line as each ends, and a table at the end.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use hotcell::event::EventKind;
use hotcell::outcome::EventOutcome;
use hotcell::text::escape_control;
use hotcell::units::format_bytes;
use hotcell::{Outcome, RunResult, Usage};

use crate::report::{grouped, spent, time};

/// What people read as the end of a call: the exact code, or why the tool did not run.
fn ended(outcome: EventOutcome, code: Option<Outcome>) -> &'static str {
    match (outcome, code) {
        (EventOutcome::Cached, _) | (_, None) => outcome.as_str(),
        (_, Some(code)) => code.as_str(),
    }
}

/// The line for an event, when it is one that people watch for.
pub(crate) fn line(event: &EventKind) -> Option<String> {
    match event {
        EventKind::ToolFinished { tool, outcome, code, usage, .. } => {
            let word = ended(*outcome, *code);
            Some(match outcome {
                EventOutcome::Skipped => format!("  {word:<16} {}", escape_control(tool)),
                _ => format!("  {word:<16} {} ({})", escape_control(tool), spent(usage)),
            })
        }
        EventKind::ToolProgress { progress, .. } => {
            let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let note = progress.note.as_deref().map(|note| format!(": {}", escape_control(note)));
            Some(format!("  ...              {}{total} done{}", progress.done, note.unwrap_or_default()))
        }
        // The model's text and the end of the run are shown by whoever has the result.
        _ => None,
    }
}

/// The table of all calls of a run; nothing when there were none.
pub(crate) fn table(result: &RunResult) -> Option<String> {
    let rows: Vec<_> = result
        .calls
        .iter()
        .map(|call| match &call.report {
            Some(report) => {
                let usage = &report.usage;
                [
                    escape_control(&call.tool),
                    if call.cached { "cached".into() } else { report.outcome.to_string() },
                    time(usage),
                    grouped(usage.fuel),
                    format_bytes(usage.peak_memory_bytes),
                ]
            }
            None => {
                [escape_control(&call.tool), "not run".into(), String::new(), String::new(), String::new()]
            }
        })
        .collect();
    (!rows.is_empty()).then(|| columns(&["tool", "outcome", "time", "fuel", "peak memory"], rows))
}

/// Rows under a header; all columns but the first two are numbers.
pub(crate) fn columns<const N: usize>(header: &[&str; N], rows: Vec<[String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        // The third column of a table is the first number, unless it is text.
        if index + 3 >= N && index > 1 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// What all calls used together, by outcome.
pub(crate) fn summary(result: &RunResult) -> String {
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut fuel = 0_u64;
    for call in &result.calls {
        let usage: Option<&Usage> = call.report.as_ref().map(|report| &report.usage);
        fuel = fuel.saturating_add(usage.map_or(0, |usage| usage.fuel));
        *outcomes
            .entry(call.report.as_ref().map_or("not run", |report| report.outcome.as_str()))
            .or_default() += 1;
    }
    let outcomes: Vec<_> =
        outcomes.into_iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let calls = if outcomes.is_empty() { "no tool calls".into() } else { outcomes.join(", ") };
    let turns = if result.turns == 1 { "turn" } else { "turns" };
    format!(
        "{}: {} {turns}, {calls}, fuel {}, {} tokens in and {} out, {}",
        result.outcome(),
        result.turns,
        grouped(fuel),
        grouped(result.tokens.input_tokens),
        grouped(result.tokens.output_tokens),
        hotcell::units::format_duration(result.elapsed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotcell::CallId;

    #[test]
    fn a_finished_call_is_one_line_without_control_characters() {
        let event = EventKind::ToolFinished {
            call: CallId::parse("r:0:1").unwrap(),
            tool: "a\x1b[2J".into(),
            outcome: EventOutcome::TimedOut,
            code: Some(Outcome::Deadline),
            usage: Usage::default(),
        };
        assert_eq!(line(&event).unwrap(), "  deadline         a\\u{1b}[2J (0 us, fuel 0, peak memory 0 B)");
        assert_eq!(line(&EventKind::RunStarted), None);
    }

    #[test]
    fn columns_line_up_and_numbers_stand_right() {
        let rows = vec![["a", "ok", "1 us", "12", "1 B"].map(String::from)];
        let text = columns(&["tool", "outcome", "time", "fuel", "peak memory"], rows);
        assert_eq!(
            text,
            " tool  outcome  time  fuel  peak memory\n a     ok       1 us    12          1 B\n"
        );
    }
}

//! One call as people read it.

use std::time::Duration;

use hotcell::content::Block;
use hotcell::services::LogLevel;
use hotcell::text::{cap_chars, escape_control, escape_keeping_lines};
use hotcell::units::{format_bytes, format_duration};
use hotcell::{CallReport, GuestLog, Usage};
use serde::Serialize;

use crate::console::{note, print_foreign, print_json};

/// A call as `--json` shows it: the report and where it comes from.
#[derive(Debug, Serialize)]
pub(crate) struct CallOutput<'a> {
    /// The report; its fields stand at the top level.
    #[serde(flatten)]
    pub(crate) report: &'a CallReport,
    /// The tool, as it was called.
    pub(crate) tool: &'a str,
    /// The digest of the component.
    pub(crate) component: String,
    /// What the guest logged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) logs: Vec<LogLine>,
}

/// One log record of a guest.
#[derive(Debug, Serialize)]
pub(crate) struct LogLine {
    level: LogLevel,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<(String, String)>,
}

impl From<GuestLog> for LogLine {
    fn from(log: GuestLog) -> Self {
        Self { level: log.record.level, message: log.record.message, fields: log.record.fields }
    }
}

impl CallOutput<'_> {
    /// One object on standard output.
    pub(crate) fn print_json(&self) -> anyhow::Result<()> {
        print_json(self)
    }

    /// The result on standard output; how it went on standard error.
    pub(crate) fn print(&self) -> anyhow::Result<()> {
        for log in &self.logs {
            note(log_text(log.level, &log.message, &log.fields));
        }
        for text in texts(self.report) {
            print_foreign(&text)?;
        }
        note(explain(self.report, self.tool));
        Ok(())
    }
}

/// What the tool returned, as text; the structured result when there is nothing else.
fn texts(report: &CallReport) -> Vec<String> {
    if report.content.is_empty() {
        return report.structured.iter().map(pretty).collect();
    }
    let text = |block: &Block| match block {
        Block::Json { value } => pretty(value),
        other => other.to_text(),
    };
    report.content.iter().map(text).collect()
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_never| value.to_string())
}

/// How the call went, over several lines when it did not go well.
pub(crate) fn explain(report: &CallReport, tool: &str) -> String {
    let mut lines = Vec::new();
    let tool = escape_control(tool);
    if report.outcome.is_ok() {
        lines.push(format!("ok: {tool} ({})", spent(&report.usage)));
    } else {
        let phase = report.phase.map(|phase| format!(" during {phase}")).unwrap_or_default();
        lines.push(format!("error[{}]: {tool}{phase}: {}", report.outcome, foreign(&report.message)));
        if let Some(trap) = report.trap {
            lines.push(format!("  trap: {}", trap.kind));
        }
        if let Some(fault) = &report.tool_fault {
            let code = fault.code.as_deref().map(|code| format!(", code {}", foreign(code)));
            lines.push(format!("  tool fault: {}{}", fault.fault, code.unwrap_or_default()));
        }
        let guest = [("tool says", &report.guest_message), ("stderr of the tool", &report.stderr_tail)];
        for (origin, text) in guest {
            if let Some(text) = text {
                lines.push(format!("  {origin}: {}", foreign(text.trim_end()).replace('\n', "\n    ")));
            }
        }
        lines.extend(report.advice.iter().map(|advice| format!("  help: {}", foreign(advice))));
        lines.push(format!("  spent: {}", spent(&report.usage)));
    }
    if report.usage.output_dropped > 0 {
        let bytes = format_bytes(report.usage.output_dropped);
        lines.push(format!("  note: {bytes} of its standard output and error were dropped"));
    }
    lines.join("\n")
}

/// The beginning of a text that is not ours, on one line.
pub(crate) fn shortened(text: &str, chars: usize) -> String {
    let short = cap_chars(text, chars);
    let dots = if short.len() < text.len() { "..." } else { "" };
    format!("{}{dots}", escape_control(short.trim_end()))
}

/// One log record of a guest, and the tool that wrote it.
pub(crate) fn log_line(log: &GuestLog) -> String {
    let record = &log.record;
    format!("{}: {}", log.tool, log_text(record.level, &record.message, &record.fields))
}

fn log_text(level: LogLevel, message: &str, fields: &[(String, String)]) -> String {
    let level = match level {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    };
    let fields: String = fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{level}: {}", escape_control(&format!("{message}{fields}")))
}

/// Text that is not ours.
fn foreign(text: &str) -> String {
    escape_keeping_lines(text)
}

/// Time, fuel and memory in one phrase.
pub(crate) fn spent(usage: &Usage) -> String {
    format!(
        "{}, fuel {}, peak memory {}",
        time(usage),
        grouped(usage.fuel),
        format_bytes(usage.peak_memory_bytes)
    )
}

/// The whole time of the call.
pub(crate) fn time(usage: &Usage) -> String {
    format_duration(Duration::from_micros(usage.wall_us.total))
}

/// A number with a comma between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotcell::Outcome;
    use hotcell::outcome::Phase;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 12, 123, 1_234, 1_000_000].map(grouped), ["0", "12", "123", "1,234", "1,000,000"]);
    }

    #[test]
    fn a_failure_says_where_what_and_what_to_do_and_escapes_the_guest() {
        let mut report = CallReport::new(Outcome::Trap, "the tool crashed: unreachable")
            .with_advice("try other arguments")
            .at(Phase::Call);
        report.stderr_tail = Some("panicked\n\x1b[31mred".into());
        assert_eq!(
            explain(&report, "boom"),
            "error[trap]: boom during call: the tool crashed: unreachable\n  \
             stderr of the tool: panicked\n    \\u{1b}[31mred\n  \
             help: try other arguments\n  \
             spent: 0 us, fuel 0, peak memory 0 B"
        );
    }

    #[test]
    fn without_content_the_structured_result_is_shown() {
        let report =
            CallReport { structured: Some(serde_json::json!({"n": 1})), ..CallReport::new(Outcome::Ok, "") };
        assert_eq!(texts(&report), ["{\n  \"n\": 1\n}"]);
        assert_eq!(texts(&CallReport::text("hi")), ["hi"]);
    }
}

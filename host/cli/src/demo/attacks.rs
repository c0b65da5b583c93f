//! What the hostile tools try, and how each has to end.

use hotcell::outcome::{Fault, TrapKind};
use hotcell::{CallReport, Outcome};
use serde_json::json;

/// One hostile tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attack {
    /// The name the model calls it by.
    pub(super) tool: &'static str,
    /// What it tries, in a few words.
    pub(super) tries: &'static str,
    /// How it has to end.
    end: End,
}

/// How an attack has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With this code.
    Code(Outcome),
    /// With a trap of this kind.
    Trap(TrapKind),
    /// With the tool's own report that it was refused.
    Refused,
    /// Well, with most of its output dropped.
    OutputDropped,
    /// Well, having seen nothing.
    SawNothing,
}

/// All of them, in the order of the script.
pub(super) const ATTACKS: &[Attack] = &[
    attack("misbehave_spin", "computes for ever", End::Code(Outcome::Deadline)),
    attack("metered_spin", "computes for ever, on a fuel budget", End::Code(Outcome::Fuel)),
    attack("misbehave_sleep", "waits for an hour", End::Code(Outcome::Deadline)),
    attack("misbehave_allocate", "allocates without end", End::Code(Outcome::MemoryLimit)),
    attack("misbehave_recurse", "recurses without end", End::Trap(TrapKind::StackOverflow)),
    attack("misbehave_panic", "panics", End::Trap(TrapKind::Unreachable)),
    attack("misbehave_exit", "ends its process", End::Code(Outcome::ToolError)),
    attack("misbehave_huge_result", "returns 40 MiB", End::Code(Outcome::ResultTooLarge)),
    attack("misbehave_invalid_utf8", "returns broken text", End::Code(Outcome::InvalidResult)),
    attack("misbehave_invalid_json", "returns broken JSON", End::Code(Outcome::InvalidResult)),
    attack("misbehave_flood_stdout", "prints 64 MiB", End::OutputDropped),
    attack("misbehave_read_outside", "reads files of the host", End::Refused),
    attack("misbehave_read_env", "reads the host's environment", End::SawNothing),
    attack("readonly_write", "changes what it may only read", End::Refused),
    attack("vault_write", "writes against the policy", End::Code(Outcome::Denied)),
];

const fn attack(tool: &'static str, tries: &'static str, end: End) -> Attack {
    Attack { tool, tries, end }
}

impl Attack {
    /// The attack behind a tool.
    pub(super) fn of(tool: &str) -> Option<&'static Self> {
        ATTACKS.iter().find(|attack| attack.tool == tool)
    }

    /// Whether it ended as it has to.
    pub(super) fn held(&self, report: &CallReport) -> bool {
        match self.end {
            End::Code(code) => report.outcome == code,
            End::Trap(kind) => {
                report.outcome == Outcome::Trap && report.trap.is_some_and(|trap| trap.kind == kind)
            }
            End::Refused => {
                let fault = report.tool_fault.as_ref().map(|fault| fault.fault);
                report.outcome == Outcome::ToolError && fault == Some(Fault::Denied)
            }
            End::OutputDropped => report.outcome.is_ok() && report.usage.output_dropped > 0,
            End::SawNothing => {
                let nothing = json!([]);
                let seen = report.structured.as_ref().and_then(|seen| seen.get("variables"));
                report.outcome.is_ok() && seen == Some(&nothing)
            }
        }
    }

    /// How it has to end, in words.
    pub(super) fn expected(&self) -> String {
        match self.end {
            End::Code(code) => code.to_string(),
            End::Trap(kind) => format!("trap ({kind})"),
            End::Refused => "tool_error (denied)".into(),
            End::OutputDropped => "ok, with output dropped".into(),
            End::SawNothing => "ok, with an empty environment".into(),
        }
    }
}

/// How a call ended, with what tells one code from another of the same name.
pub(super) fn ended(report: &CallReport) -> String {
    let detail = match (&report.trap, &report.tool_fault) {
        (Some(trap), _) if report.outcome == Outcome::Trap => format!(" ({})", trap.kind),
        (_, Some(fault)) => format!(" ({})", fault.fault),
        _ if report.usage.output_dropped > 0 => ", output dropped".to_owned(),
        _ => String::new(),
    };
    format!("{}{detail}", report.outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_script_calls_every_attack_and_otherwise_only_the_tools_of_the_task() {
        let lines = include_str!("script.jsonl").lines().filter(|line| line.starts_with('{'));
        let calls = lines.flat_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["calls"].as_array().cloned().unwrap_or_default()
        });
        let called: BTreeSet<_> = calls.map(|call| call["name"].as_str().unwrap().to_owned()).collect();
        let task = ["notes_list", "notes_read", "csv_query", "notes_write"];
        let expected = ATTACKS.iter().map(|attack| attack.tool).chain(task);
        assert_eq!(called, expected.map(str::to_owned).collect());
    }

    #[test]
    fn an_attack_that_ends_otherwise_did_not_hold() {
        let spin = Attack::of("misbehave_spin").unwrap();
        assert!(spin.held(&CallReport::new(Outcome::Deadline, "")));
        assert!(!spin.held(&CallReport::new(Outcome::Fuel, "")));
        let env = Attack::of("misbehave_read_env").unwrap();
        let report = |variables| CallReport {
            structured: Some(json!({ "variables": variables })),
            ..CallReport::new(Outcome::Ok, "")
        };
        assert!(env.held(&report(json!([]))) && !env.held(&report(json!(["HOME=/root"]))));
        assert!(Attack::of("notes_write").is_none());
    }
}

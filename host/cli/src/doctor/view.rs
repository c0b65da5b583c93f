//! What doctor found, as people read it.

use std::fmt::Write as _;

use hotcell::CompileLimits;
use hotcell::units::{format_bytes, format_duration};

use super::Findings;
use super::check::State;
use crate::report::grouped;

/// The whole page.
pub(super) fn describe(findings: &Findings) -> String {
    let mut text = format!("hotcell {} on {}\n", findings.version, findings.platform);
    let mut line = |part: std::fmt::Arguments<'_>| {
        if text.write_fmt(part).is_err() {
            unreachable!("writing to a string cannot fail");
        }
    };
    for check in &findings.checks {
        let state = match check.state {
            State::Good => "good",
            State::Missing => "missing",
            State::Failed => "FAILED",
        };
        line(format_args!("  {state:<8} {}: {}\n", check.name, check.detail));
        if let Some(help) = &check.help {
            line(format_args!("           help: {help}\n"));
        }
    }
    let limits = &findings.limits;
    line(format_args!(
        "each call, unless a policy says otherwise: {}, {} of memory, fuel {}, results of {}\n",
        format_duration(limits.timeout),
        format_bytes(limits.memory_bytes),
        grouped(limits.fuel),
        format_bytes(limits.result_bytes)
    ));
    let compile = CompileLimits::default();
    line(format_args!(
        "each compilation: {}, {} of processor time, {} of address space, components of {}, artifacts of {}\n",
        format_duration(compile.wall_time),
        format_duration(compile.cpu_time),
        format_bytes(compile.address_space_bytes),
        format_bytes(compile.component_bytes),
        format_bytes(compile.artifact_bytes)
    ));
    let embedded = if findings.embedded.is_empty() { "none".into() } else { findings.embedded.join(", ") };
    line(format_args!("components inside of this binary: {embedded}\n"));
    text
}

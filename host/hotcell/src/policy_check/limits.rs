//! Limits that no sandbox can have, or that no component can live with.

use std::time::Duration;

use hotcell_compiler::Inspection;
pub use hotcell_core::limits::CALL_MEMORY_BYTES;
use hotcell_core::limits::LimitOverrides;
use hotcell_core::policy::file::key_path;
use hotcell_core::units::{format_bytes, format_duration};

use super::{About, Check};
use crate::component::Terms;

/// Longest time a call is given on a command line; more is probably a mistake.
pub const LONGEST_CALL: Duration = Duration::from_secs(24 * 60 * 60);

/// Looks at each table of limits by itself.
pub(super) fn check_all(check: &mut Check<'_>) {
    let policy = check.policy;
    let mut tables = vec![("defaults.limits".to_owned(), policy.defaults.limits)];
    for (name, entry) in &policy.components {
        tables.push((About::entry(name, "limits").key, entry.limits));
        let of_tools = entry.tools.iter();
        tables.extend(
            of_tools.map(|(tool, said)| (About::entry(name, &key_path(&["tools", tool])).key, said.limits)),
        );
    }
    for (table, limits) in tables {
        check_table(check, &table, limits);
    }
}

fn check_table(check: &mut Check<'_>, table: &str, limits: LimitOverrides) {
    let about = |limit: &str| About { key: format!("{table}.{limit}"), table: table.to_owned() };
    if let Some(memory) = limits.memory_bytes.filter(|bytes| !CALL_MEMORY_BYTES.contains(bytes)) {
        let message = format!("{} is out of range; a call can have 64KiB to 4GiB", format_bytes(memory));
        check.problem(&about("memory"), message, "choose a size in that range");
    }
    let Some(timeout) = limits.timeout else { return };
    if timeout > LONGEST_CALL {
        let message = format!("{} is longer than a day", format_duration(timeout));
        let help = "choose a shorter time; whoever waits for the call waits that long";
        check.note(&about("timeout"), message, help);
    }
    if let Some(run) = check.policy.run.max_time.filter(|run| *run < timeout) {
        let message = format!(
            "a call may take {}, and the whole run only {} (`run.max_time`), which ends it first",
            format_duration(timeout),
            format_duration(run)
        );
        let help = "lower the timeout, or raise `run.max_time`";
        check.note(&about("timeout"), message, help);
    }
}

/// Holds what the component needs at its start against what its calls get.
pub(super) fn check_minimums(check: &mut Check<'_>, name: &str, inspection: &Inspection) {
    // Bytes that are refused were a finding of their own.
    let Ok(terms) = Terms::new(name).under(check.policy, inspection.digest) else { return };
    let tools = inspection.definitions.iter().flatten().map(|tool| tool.name.as_str());
    let limits: Vec<_> = tools.filter(|tool| terms.exposes(tool)).map(|tool| terms.limits(tool)).collect();
    let memory = limits.iter().map(|limits| limits.memory_bytes).min();
    let elements = limits.iter().map(|limits| limits.table_elements).min();
    let (Some(memory), Some(elements)) = (memory, elements) else { return };
    let core = &inspection.core;
    if core.minimum_memory_bytes > memory {
        let needed = format_bytes(core.minimum_memory_bytes);
        let message =
            format!("its memories have {needed} at the start, its calls get {}", format_bytes(memory));
        let help =
            format!("give its calls more: `limits.memory = \"{}B\"` or above", core.minimum_memory_bytes);
        check.problem(&About::entry(name, "limits.memory"), message, help);
    }
    if core.minimum_table_elements > u64::from(elements) {
        let needed = core.minimum_table_elements;
        let message = format!("its tables have {needed} elements at the start, its calls get {elements}");
        let help = format!("give its calls more: `limits.table_elements = {needed}` or above");
        check.problem(&About::entry(name, "limits.table_elements"), message, help);
    }
}

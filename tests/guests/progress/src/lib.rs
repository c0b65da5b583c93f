//! Reports progress, step by step.

use hotcell_tool::{progress, tool};

/// Report each of several steps, and return how many there were.
#[tool(read_only)]
fn count_up(
    /// How many steps; 3 unless it is given.
    steps: Option<u64>,
) -> u64 {
    let steps = steps.unwrap_or(3);
    for step in 1..=steps {
        progress::report_with(step, Some(steps), &format!("step {step}"));
    }
    steps
}

hotcell_tool::component!(count_up);

#[cfg(test)]
mod tests {
    use hotcell_tool::testing::Call;
    use serde_json::json;

    #[test]
    fn every_step_is_reported() {
        let called = Call::new(&super::TOOLS, "count_up", &json!({"steps": 2})).run();
        assert_eq!(called.result.unwrap().structured_text(), Some("2"));
        let reports: Vec<_> =
            called.progress.into_iter().map(|report| (report.done, report.total, report.note)).collect();
        assert_eq!(
            reports,
            [(1, Some(2), Some("step 1".to_owned())), (2, Some(2), Some("step 2".to_owned()))]
        );
    }
}

//! Writes far more log records than a host keeps.

use hotcell_tool::{log, tool};

/// Write many log records of many bytes each, and return how many.
#[tool(read_only)]
fn log_flood(
    /// How many records; 10000 unless it is given.
    records: Option<u32>,
    /// How many bytes each; 10000 unless it is given.
    bytes: Option<u32>,
) -> u32 {
    let records = records.unwrap_or(10_000);
    let message = "x".repeat(usize::try_from(bytes.unwrap_or(10_000)).unwrap_or(usize::MAX));
    for record in 0..records {
        log::write(log::Level::Info, &message, &[("record", &record.to_string())]);
    }
    records
}

/// Write one record of each level, with values a terminal must not see as they are.
#[tool(read_only)]
fn log_levels() {
    log::trace("trace");
    log::debug("debug");
    log::info("info");
    log::warn("warn");
    log::write(log::Level::Error, "error \u{1b}[31m\r\n{}", &[("key", "value"), ("", "\0")]);
}

hotcell_tool::component!(log_flood, log_levels);

#[cfg(test)]
mod tests {
    use hotcell_tool::{log::Level, testing::Call};
    use serde_json::json;

    #[test]
    fn as_many_records_are_written_as_were_asked_for() {
        let called = Call::new(&super::TOOLS, "log_flood", &json!({"records": 3, "bytes": 5})).run();
        assert_eq!(called.result.unwrap().structured_text(), Some("3"));
        let messages: Vec<_> = called.logs.into_iter().map(|record| record.message).collect();
        assert_eq!(messages, ["xxxxx"; 3]);
    }

    #[test]
    fn there_is_one_record_of_each_level() {
        let called = Call::new(&super::TOOLS, "log_levels", &json!({})).run();
        let levels: Vec<_> = called.logs.into_iter().map(|record| record.level).collect();
        assert_eq!(levels, [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error]);
    }
}

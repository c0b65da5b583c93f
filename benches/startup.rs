//! From the start of a process to its exit: `hotcell tool call` on a warm artifact, beside what people use instead.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use hotcell_benches::{Samples, print};
use hotcell_tests::guest;
use serde_json::{Map, Value, json};

const RUNS: usize = 30;

fn main() -> Result<()> {
    let mut rows = Map::new();
    let cache = tempfile::tempdir()?;
    let tool = guest::path("text-stats");
    let hotcell = || {
        let mut command = Command::new(guest::binary());
        command.args(["tool", "call"]).arg(&tool).args(["count", "--args", r#"{"text":"a b c"}"#]);
        command.env("HOTCELL_CACHE_DIR", cache.path().join("cache"));
        command
    };
    let first = time(hotcell())?;
    rows.insert("hotcell_first_call_us".into(), json!(first.as_micros()));
    measure(&mut rows, "hotcell_tool_call", hotcell)?;
    measure(&mut rows, "python3", || {
        let mut command = Command::new("python3");
        command.args(["-c", "import json; print(len('a b c'.split()))"]);
        command
    })?;
    measure(&mut rows, "bwrap", || {
        let mut command = Command::new("bwrap");
        command.args(["--ro-bind", "/", "/", "--unshare-all", "/bin/true"]);
        command
    })?;
    print(&json!({ "bench": "startup", "rows": rows }));
    Ok(())
}

/// Times a command, or says that it is not installed.
fn measure(rows: &mut Map<String, Value>, name: &str, command: impl Fn() -> Command) -> Result<()> {
    if time(command()).is_err() {
        rows.insert(name.into(), json!("not available"));
        return Ok(());
    }
    let mut samples = Samples::default();
    for _ in 0..RUNS {
        samples.push(time(command())?);
    }
    rows.insert(name.into(), samples.to_json());
    Ok(())
}

fn time(mut command: Command) -> Result<std::time::Duration> {
    let begin = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("{command:?} does not start"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(begin.elapsed())
}

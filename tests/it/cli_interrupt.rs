//! Ctrl-C: exit code 130, one answer that says what was used, and nothing left running.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hotcell_tests::guest;
use hotcell_tests::wat_tool::WatTool;
use serde_json::Value;

/// Calls a tool, interrupts the process once it has computed for a while, and returns what it printed.
fn interrupted(component: &Path, rest: &[&str]) -> Value {
    let mut command = Command::new(guest::binary());
    command.args(["tool", "call"]).arg(component).args(rest).args(["--timeout", "100s", "--json"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_it_computes(&mut child);
    let begin = Instant::now();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.starts_with(b"{"), "one JSON object: {output:?}");
    assert!(begin.elapsed() < Duration::from_secs(20), "it took {:?} to end", begin.elapsed());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Waits until the process itself has used 0.3 s of processor time: compiling happens in another.
fn wait_until_it_computes(child: &mut Child) {
    let begin = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        // The fields after the name, which ends at the last bracket; user time is the twelfth, in ticks of 10 ms.
        let after = stat.rsplit(')').next().unwrap_or_default();
        let ticks: u64 = after.split_whitespace().nth(11).and_then(|text| text.parse().ok()).unwrap();
        if ticks >= 30 {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(begin.elapsed() < Duration::from_secs(60), "it used {ticks} ticks in a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupted_call_ends_with_130_and_says_what_it_used() {
    let said = interrupted(&guest::path("misbehave"), &["spin"]);
    assert_eq!(said["outcome"], "cancelled", "{said}");
    assert!(said["usage"]["fuel"].as_u64().unwrap() > 1_000_000, "{said}");
}

#[test]
fn an_interrupt_while_a_component_names_its_tools_is_answered_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("loop.wasm");
    let looping =
        WatTool { call: "(call $ok)", extra: "(func $s (loop (br 0))) (start $s)", ..WatTool::default() };
    std::fs::write(&path, looping.build().unwrap()).unwrap();
    let said = interrupted(&path, &[]);
    assert!(said.to_string().contains("cancelled"), "{said}");
}

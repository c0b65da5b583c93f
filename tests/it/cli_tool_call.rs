//! `hotcell tool call`: one object as JSON, exit codes, and errors that name the place and the remedy.

use std::path::Path;

use hotcell_tests::command::{Said, hotcell};
use hotcell_tests::guest;

fn call(tool: &str, rest: &[&str]) -> Said {
    let path = guest::path(tool);
    let mut args = vec!["tool", "call", path.to_str().unwrap()];
    args.extend(rest);
    hotcell(&args)
}

#[test]
fn an_endless_loop_is_a_deadline_on_time_with_plausible_fuel() {
    let said = call("misbehave", &["spin", "--args", "{}", "--timeout", "500ms", "--json"]);
    let report = said.json();
    assert_eq!((said.code, &report["outcome"]), (Some(1), &"deadline".into()), "{said:?}");
    let total = report["usage"]["wall_us"]["total"].as_u64().unwrap();
    assert!((500_000..1_500_000).contains(&total), "{total} us");
    assert!(report["usage"]["fuel"].as_u64().unwrap() > 10_000_000, "{report}");
}

#[test]
fn fuel_is_the_same_each_time_and_half_of_it_is_not_enough() {
    let burned = || {
        let said = call("text-stats", &["count", "--args", r#"{"text":"one two three"}"#, "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        said.json()["usage"]["fuel"].as_u64().unwrap()
    };
    let fuel = burned();
    assert_eq!((burned(), burned()), (fuel, fuel));
    let half = (fuel / 2).to_string();
    let said =
        call("text-stats", &["count", "--args", r#"{"text":"one two three"}"#, "--fuel", &half, "--json"]);
    assert_eq!((said.code, &said.json()["outcome"]), (Some(1), &"fuel".into()), "{said:?}");
}

/// P-47.
#[test]
fn each_kind_of_misbehaviour_has_its_own_code() {
    let cases = [
        ("panic", "trap"),
        ("recurse", "trap"),
        ("allocate", "memory_limit"),
        ("exit", "tool_error"),
        ("huge_result", "result_too_large"),
        ("invalid_utf8", "invalid_result"),
        ("invalid_json", "invalid_result"),
        ("read_outside", "tool_error"),
        ("echo", "ok"),
    ];
    for (tool, outcome) in cases {
        let said = call("misbehave", &[tool, "--json"]);
        assert_eq!(said.json()["outcome"], outcome, "{tool}: {said:?}");
        assert_eq!(said.code, Some(i32::from(outcome != "ok")), "{tool}");
    }
    let said = call("misbehave", &["panic", "--json"]).json();
    assert_eq!(said["trap"]["kind"], "unreachable");
    assert!(said["stderr_tail"].as_str().is_some_and(|tail| tail.contains("panicked")), "{said}");
}

#[test]
fn a_result_of_200_mib_is_refused_with_a_memory_that_holds_it() {
    let said =
        call("misbehave", &["huge_result", "--args", "bytes=209715200", "--memory", "256MiB", "--json"]);
    assert_eq!(said.json()["outcome"], "result_too_large", "{said:?}");
}

#[test]
fn wrong_usage_exits_with_2_and_names_the_remedy() {
    let text = r#"{"text":"a"}"#;
    let cases: [(&[&str], &str); 8] = [
        (&["count", "--args", "{bad"], "not JSON"),
        (&["count", "--args", text, "--timeout", "5parsecs"], "500ms"),
        (&["count", "--args", text, "--timeout", "0s"], "greater than zero"),
        (&["count", "--args", text, "--memory", "64MB"], "64MiB"),
        (&["count", "--args", text, "--fuel", "0"], "--fuel"),
        (&["count", "--args", text, "--grant", "fils=a:/b"], "files=HOST:GUEST"),
        (&["count", "--args", text, "--grant", "files=/no/such/folder:/b"], "existing directory"),
        (&["count", "--args", text, "--policy", "/no/such/policy.toml"], "/no/such/policy.toml"),
    ];
    for (args, expected) in cases {
        let said = call("text-stats", args);
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(said.err.contains(expected), "{args:?}: {said:?}");
    }
    // A device stands for everything that could make a reader wait.
    for file in ["/no/such/tool.wasm", "/", "/dev/zero"] {
        let said = hotcell(&["tool", "call", file]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains("cannot be read") && said.err.contains("because"), "{said:?}");
    }
}

#[test]
fn arguments_against_the_schema_and_unknown_tools_are_outcomes() {
    let said = call("text-stats", &["count", "--args", r#"{"txt":1}"#, "--json"]);
    assert_eq!((said.code, &said.json()["outcome"]), (Some(1), &"invalid_args".into()), "{said:?}");
    let said = call("text-stats", &["cuont", "--json"]);
    assert_eq!((said.code, &said.json()["outcome"]), (Some(1), &"unknown_tool".into()), "{said:?}");
    assert!(said.out.contains("count"), "the nearest name is a hint: {said:?}");
}

#[test]
fn a_grant_on_the_command_line_opens_one_directory() {
    let folder = tempfile::tempdir().unwrap();
    let grant = format!("files={}:/notes:rw", folder.path().display());
    let args = r#"{"name":"list","text":"tea"}"#;
    let said = call("notes", &["write", "--args", args, "--grant", &grant, "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("list.md")).unwrap(), "tea");
    let read_only = format!("files={}:/notes", folder.path().display());
    let args = r#"{"name":"other","text":"tea"}"#;
    let said = call("notes", &["write", "--args", args, "--grant", &read_only, "--json"]);
    assert_eq!((said.code, &said.json()["outcome"]), (Some(1), &"tool_error".into()), "{said:?}");
    assert!(!folder.path().join("other.md").exists());
}

#[test]
fn a_policy_that_denies_also_binds_the_operators_own_call() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    std::fs::write(
        &policy,
        "version = 1\n[components.text-stats]\ntools.count = { permission = \"deny\" }\n",
    )
    .unwrap();
    let said = call(
        "text-stats",
        &["count", "--args", r#"{"text":"a"}"#, "--policy", policy.to_str().unwrap(), "--json"],
    );
    assert_eq!((said.code, &said.json()["outcome"]), (Some(1), &"denied".into()), "{said:?}");
}

#[test]
fn control_characters_of_a_guest_never_reach_the_terminal() {
    let said = call("misbehave", &["echo", "--args", r#"{"text":"\u001b[31mred\u202e"}"#]);
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said:?}");
}

#[test]
fn a_second_start_compiles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let path = guest::path("text-stats");
    let args = ["tool", "call", path.to_str().unwrap(), "count", "--args", "text=a", "--json"];
    let environment = [("HOTCELL_CACHE_DIR", cache.to_str().unwrap())];
    let run = || hotcell_tests::command::run(&guest::binary(), &args, &environment);
    assert_eq!(run().code, Some(0));
    let entries =
        |folder: &Path| walk(folder).into_iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>();
    let kept = cache.join("entries");
    let before = entries(&kept);
    assert!(before.iter().any(|entry| entry.len() > 100_000), "the artifact is kept");
    // A damaged entry is a miss and is made anew.
    for path in walk(&kept).into_iter().filter(|path| path.metadata().unwrap().len() > 100_000) {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(run().code, Some(0));
    assert_eq!(entries(&kept), before, "the same bytes are compiled to the same artifact");
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

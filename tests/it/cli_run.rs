//! `hotcell run` with an offline script: calls, approvals that nobody can give, budgets and results.

use std::path::Path;

use hotcell_tests::command::{Said, hotcell};
use hotcell_tests::guest;

fn run(folder: &Path, script: &str, rest: &[&str]) -> Said {
    let path = folder.join("script.jsonl");
    std::fs::write(&path, script).unwrap();
    let model = format!("script:{}", path.display());
    let mut args = vec!["run", "Do it.", "--model", &model];
    args.extend(rest);
    hotcell(&args)
}

#[test]
fn the_answer_comes_from_what_the_tool_returned() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
# Counts, then says what was counted.
{"calls":[{"name":"count","args":{"text":"one two three four"}}]}
{"text":"There are {{calls[0].structured.words}} words."}
"#;
    let tool = guest::path("text-stats");
    let said = run(folder.path(), script, &["--tool", tool.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("There are 4 words."), "{said:?}");
    let said = run(folder.path(), script, &["--tool", tool.to_str().unwrap(), "--json"]);
    assert_eq!(said.json()["output"], "There are 4 words.", "{said:?}");
}

#[test]
fn a_call_that_needs_approval_is_denied_without_a_terminal_and_names_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"{"calls":[{"name":"write","args":{"name":"a","text":"b"}}]}
{"text":"It was {{calls[0].outcome}}."}"#;
    let tool = guest::path("notes");
    let grant = format!("files={}:/notes:rw", folder.path().display());
    let said = run(folder.path(), script, &["--tool", tool.to_str().unwrap(), "--grant", &grant]);
    assert!(said.out.contains("It was denied."), "{said:?}");
    let shown = format!("{}{}", said.out, said.err);
    assert!(shown.contains(r#"components.notes.tools.write.permission = "allow""#), "{said:?}");
    assert!(!folder.path().join("a.md").exists());
}

#[test]
fn the_line_a_denial_names_allows_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"{"calls":[{"name":"write","args":{"name":"a","text":"b"}}]}
{"text":"It was {{calls[0].outcome}}."}"#;
    let tool = guest::path("notes");
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "version = 1\ncomponents.notes.tools.write.permission = \"allow\"\n").unwrap();
    let grant = format!("files={}:/notes:rw", folder.path().display());
    let args = ["--tool", tool.to_str().unwrap(), "--grant", &grant, "--policy", policy.to_str().unwrap()];
    let said = run(folder.path(), script, &args);
    assert!(said.out.contains("It was ok."), "{said:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("a.md")).unwrap(), "b");
}

/// P-13, P-47.
#[test]
fn hostile_calls_end_as_errors_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "version = 1\n[components.misbehave]\nlimits = { timeout = \"200ms\" }\n")
        .unwrap();
    let script = r#"{"calls":[{"name":"spin","args":{}},{"name":"panic","args":{}},{"name":"nope","args":{}},{"name":"echo","args":{"text":5}}]}
{"text":"{{calls[0].outcome}} {{calls[1].outcome}} {{calls[2].outcome}} {{calls[3].outcome}}"}"#;
    let tool = guest::path("misbehave");
    let args = ["--tool", tool.to_str().unwrap(), "--policy", policy.to_str().unwrap(), "--json"];
    let said = run(folder.path(), script, &args);
    assert_eq!(said.json()["output"], "deadline trap unknown_tool invalid_args", "{said:?}");
    assert_eq!(said.code, Some(0));
}

#[test]
fn a_missing_value_in_a_script_is_an_error_that_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let said = run(folder.path(), r#"{"text":"{{calls[0].structured.words}}"}"#, &[]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("script.jsonl") && said.err.contains("calls[0]"), "{said:?}");
    let said = run(folder.path(), "{\"txt\":1}", &[]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("script.jsonl") && said.err.contains("line 1"), "{said:?}");
}

#[test]
fn a_turn_limit_ends_the_run_with_its_own_label() {
    let folder = tempfile::tempdir().unwrap();
    let line = r#"{"calls":[{"name":"count","args":{"text":"a"}}]}"#;
    let script = format!("{line}\n{line}\n{line}\n{line}\n");
    let tool = guest::path("text-stats");
    let args = ["--tool", tool.to_str().unwrap(), "--max-turns", "2", "--json"];
    let said = run(folder.path(), &script, &args);
    assert_eq!(said.code, Some(1), "{said:?}");
}

/// H-03.
#[test]
fn without_a_key_the_error_names_the_variable_and_the_offline_choice() {
    let binary = guest::binary();
    let environment = [("OPENAI_API_KEY", "")];
    let said =
        hotcell_tests::command::run(&binary, &["run", "hi", "--model", "openai/gpt-4.1"], &environment);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("OPENAI_API_KEY") && said.err.contains("script:"), "{said:?}");
}

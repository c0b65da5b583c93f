//! What a run may use and must answer, as typed and as the policy says: bounds, presets, schemas, attachments, and
//! what is kept of results that are too large.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use hotcell_tests::command::{Said, run};
use hotcell_tests::guest;

/// `hotcell run` with this script, in a folder that also takes what it keeps.
fn hotcell_run(folder: &Path, script: &str, rest: &[&str]) -> Said {
    let path = folder.join("script.jsonl");
    std::fs::write(&path, script).unwrap();
    let model = format!("script:{}", path.display());
    let mut args = vec!["run", "Do it.", "--model", &model];
    args.extend(rest);
    hotcell(folder, &args)
}

fn hotcell(folder: &Path, args: &[&str]) -> Said {
    run(&guest::binary(), args, &[("HOTCELL_STATE_DIR", folder.to_str().unwrap())])
}

/// A policy file with this `[run]`.
fn policy(folder: &Path, settings: &str) -> String {
    let path = folder.join("policy.toml");
    std::fs::write(&path, format!("version = 1\n[run]\n{settings}\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

fn outcome(said: &Said) -> (Option<i32>, String) {
    let last = said.json()["events"].as_array().unwrap().last().unwrap()["outcome"].clone();
    (said.code, last.as_str().unwrap().to_owned())
}

fn count_calls(lines: usize, calls: usize) -> String {
    let call = r#"{"name":"count","args":{"text":"a"}}"#;
    let line = format!("{{\"calls\":[{}]}}\n", vec![call; calls].join(","));
    format!("{}{{\"text\":\"done\"}}\n", line.repeat(lines))
}

#[test]
fn bounds_are_typed_or_in_the_policy_and_what_is_typed_wins() {
    let folder = tempfile::tempdir().unwrap();
    let tool = guest::path("text-stats");
    let tool = tool.to_str().unwrap();
    let tight = policy(folder.path(), "max_turns = 1\nmax_tool_calls = 1");
    let strict = policy(folder.path(), "strict = true").replace("policy.toml", "strict.toml");
    std::fs::rename(folder.path().join("policy.toml"), &strict).unwrap();
    policy(folder.path(), "max_turns = 1\nmax_tool_calls = 1");
    for (turns, calls, rest, expected) in [
        (1, 2, vec!["--max-tool-calls", "1"], (Some(1), "max_tool_calls")),
        (1, 2, vec!["--max-tool-calls", "2"], (Some(0), "completed")),
        (1, 2, vec!["--policy", &tight], (Some(1), "max_tool_calls")),
        (1, 1, vec!["--policy", &tight], (Some(1), "limited")),
        (
            1,
            2,
            vec!["--policy", &tight, "--max-tool-calls", "unlimited", "--max-turns", "2"],
            (Some(0), "completed"),
        ),
        (21, 1, vec!["--strict"], (Some(1), "max_steps")),
        (21, 1, vec!["--policy", &strict], (Some(1), "max_steps")),
        (21, 1, vec!["--strict", "--max-turns", "unlimited"], (Some(0), "completed")),
        (1, 101, vec!["--strict"], (Some(1), "max_tool_calls")),
    ] {
        let args = [&["--tool", tool, "--json"], rest.as_slice()].concat();
        let said = hotcell_run(folder.path(), &count_calls(turns, calls), &args);
        let (code, label) = outcome(&said);
        assert_eq!((code, label.as_str()), expected, "{rest:?}: {}", said.err);
    }
}

#[test]
fn a_run_that_takes_too_long_ends_with_its_own_label() {
    let folder = tempfile::tempdir().unwrap();
    let tool = guest::path("misbehave");
    let script = "{\"calls\":[{\"name\":\"spin\",\"args\":{}}]}\n{\"text\":\"done\"}\n";
    let args = ["--tool", tool.to_str().unwrap(), "--max-time", "300ms", "--json"];
    assert_eq!(outcome(&hotcell_run(folder.path(), script, &args)), (Some(1), "timeout".to_owned()));
}

#[test]
fn bounds_that_are_none_say_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    for (flag, value, expected) in [
        ("--max-turns", "0", "0 is no bound here, write `unlimited`"),
        ("--max-tool-calls", "-1", "--max-tool-calls"),
        ("--max-tool-calls", "many", "expected a whole number from 1 to 4294967295, or `unlimited`"),
        ("--max-time", "0s", "duration greater than zero"),
    ] {
        let typed = format!("{flag}={value}");
        let said = hotcell_run(folder.path(), "{\"text\":\"x\"}", &[&typed]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(expected), "{said:?}");
    }
}

/// P-36, P-49.
#[test]
fn an_answer_has_to_fit_the_schema_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answer.json");
    let schema = file.to_str().unwrap().to_owned();
    std::fs::write(
        &file,
        r#"{"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}}"#,
    )
    .unwrap();
    let from_policy = policy(folder.path(), "output_schema = \"answer.json\"");
    for source in [["--output-schema", &schema], ["--policy", &from_policy]] {
        let args = [&source[..], &["--json"]].concat();
        let good = hotcell_run(folder.path(), r#"{"text":"{\"total\": 4}"}"#, &args);
        assert_eq!(
            (outcome(&good), good.json()["data"]["total"].as_u64()),
            ((Some(0), "completed".to_owned()), Some(4))
        );
        let bad = hotcell_run(folder.path(), r#"{"text":"It is 4."}"#, &args);
        assert_eq!(outcome(&bad), (Some(1), "invalid_output".to_owned()));
        assert_eq!((bad.json()["output"].as_str(), bad.json()["data"].is_null()), (Some("It is 4."), true));
    }
    for (text, expected) in [
        ("{\"type\": 3}", "not a JSON Schema of draft 2020-12"),
        ("{\"$ref\": \"https://example.org/x\"}", "refers to something outside of the schema"),
        ("{", "is not JSON"),
    ] {
        std::fs::write(&file, text).unwrap();
        let said = hotcell_run(folder.path(), r#"{"text":"x"}"#, &["--output-schema", &schema]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(expected), "{said:?}");
    }
    let said = hotcell_run(folder.path(), r#"{"text":"x"}"#, &["--output-schema", "/no/such.json"]);
    assert!(said.code == Some(2) && said.err.contains("`/no/such.json` cannot be read"), "{said:?}");
}

/// H-38.
#[test]
fn a_file_goes_with_the_prompt_when_it_is_what_models_take() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("dot.gif");
    std::fs::write(&picture, b"GIF89a").unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "only text").unwrap();
    let from_policy = policy(folder.path(), "attach = [\"dot.gif\"]");
    for source in [["--attach", picture.to_str().unwrap()], ["--policy", &from_policy]] {
        let args = [&source[..], &["--json"]].concat();
        let said = hotcell_run(folder.path(), r#"{"text":"A dot."}"#, &args);
        assert_eq!(said.code, Some(0), "{said:?}");
        let prompt = said.json()["transcript"][0]["content"].clone();
        assert_eq!(
            prompt[1]["media"],
            serde_json::json!({"media_type": "image/gif", "data": "R0lGODlh"}),
            "{prompt}"
        );
    }
    for (file, expected) in [
        (text.to_str().unwrap(), "notes.txt` cannot be sent"),
        ("/no/such.png", "`/no/such.png` cannot be read"),
    ] {
        let said = hotcell_run(folder.path(), r#"{"text":"x"}"#, &["--attach", file]);
        assert!(said.code == Some(2) && said.err.contains(expected), "{said:?}");
    }
}

/// H-27.
#[test]
fn a_large_result_is_kept_privately_until_it_is_cleaned() {
    let folder = tempfile::tempdir().unwrap();
    let text = "word ".repeat(4_000);
    let script = format!(
        "{{\"calls\":[{{\"name\":\"echo\",\"args\":{{\"text\":\"{text}\"}}}}]}}\n{{\"text\":\"done\"}}\n"
    );
    let tool = guest::path("misbehave");
    let said = hotcell_run(folder.path(), &script, &["--tool", tool.to_str().unwrap(), "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let read = said.json()["transcript"][2]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(
        read.starts_with("[Only a part of this result is shown: ") && read.chars().count() < 4_000,
        "{read}"
    );

    let results = folder.path().join("results");
    let only = |path: &Path| {
        let mut entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        let first = entries.next().unwrap();
        assert!(entries.next().is_none(), "{}", path.display());
        first
    };
    let kept = only(&only(&results));
    assert!(std::fs::read_to_string(&kept).unwrap().contains(text.trim_end()));
    assert!(read.contains(kept.file_name().unwrap().to_str().unwrap()), "the note names it: {read}");
    for path in [&results, &only(&results)] {
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o700);
    }

    let young = hotcell(folder.path(), &["clean", "--older-than", "1h"]);
    assert!(
        young.code == Some(0) && young.out.starts_with("nothing older than 3600.00 s to remove in "),
        "{young:?}"
    );
    let dry = hotcell(folder.path(), &["clean", "--dry-run"]);
    assert!(dry.code == Some(0) && dry.out.starts_with("would remove 1 results of 1 agents, "), "{dry:?}");
    assert!(kept.exists());
    let said = hotcell(folder.path(), &["clean", "--json"]).json();
    assert_eq!(
        (said["removed_results"].as_u64(), said["removed_folders"].as_u64()),
        (Some(1), Some(1)),
        "{said}"
    );
    assert!(said["removed_bytes"].as_u64().unwrap() >= 20_000 && !kept.exists());
    assert!(std::fs::read_dir(&results).unwrap().next().is_none());
}

//! `hotcell policy check`: everything the policy names is looked at, and each finding has its line.

use std::path::PathBuf;

use hotcell_tests::command::{Said, hotcell};
use hotcell_tests::guest;
use hotcell_tests::wat_tool::WatTool;
use serde_json::Value;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(body: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for tool in ["notes", "text-stats"] {
            std::fs::copy(guest::path(tool), folder.path().join(format!("{tool}.wasm"))).unwrap();
        }
        std::fs::write(folder.path().join("policy.toml"), format!("version = 1\n{body}")).unwrap();
        Self { folder }
    }

    fn policy(&self) -> PathBuf {
        self.folder.path().join("policy.toml")
    }

    fn check(&self, more: &[&str]) -> Said {
        hotcell(&[&["policy", "check", self.policy().to_str().unwrap()], more].concat())
    }
}

/// The findings as `key:line`.
fn found(json: &Value, list: &str) -> Vec<String> {
    let line = |finding: &Value| format!("{}:{}", finding["key"].as_str().unwrap(), finding["line"]);
    json[list].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn every_problem_is_found_at_its_line() {
    let wrong = "sha256:0000000000000000000000000000000000000000000000000000000000000001";
    let place = Place::new(&format!(
        "[components.gone]\nsource = \"gone.wasm\"\n\
         [components.notes]\nsource = \"notes.wasm\"\ndigest = \"{wrong}\"\n\
         [components.stats]\nsource = \"text-stats.wasm\"\ntools.cuont = {{ permission = \"ask\" }}\nlimits.memory = \"64KiB\"\n\
         grants.files = [{{ host = \"nowhere\", guest = \"/d\" }}]\n"
    ));
    let said = place.check(&["--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let json = said.json();
    assert_eq!(
        found(&json, "problems"),
        [
            "components.gone.source:3",
            "components.notes.digest:6",
            "components.stats.tools.cuont:9",
            "components.stats.limits.memory:10",
            "components.stats.grants.files[0]:11",
        ],
        "{json}"
    );
    let said = place.check(&[]);
    assert_eq!(said.code, Some(1), "{said:?}");
    for expected in ["policy.toml:6:1: components.notes.digest", "policy.toml:9:7", "help:"] {
        assert!(said.err.contains(expected), "{expected}: {said:?}");
    }
}

#[test]
fn what_works_and_is_probably_not_meant_is_a_note() {
    let place = Place::new(
        "run.max_time = \"1s\"\n[components.stats]\nsource = \"text-stats.wasm\"\nlimits.timeout = \"2s\"\n[components.later]\n",
    );
    let said = place.check(&["--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json = said.json();
    assert_eq!((&json["ok"], found(&json, "problems").len()), (&Value::Bool(true), 0), "{json}");
    assert_eq!(found(&json, "notes"), ["components.stats.limits.timeout:5", "components.later:6"], "{json}");
    let said = place.check(&[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("note: ") && said.out.ends_with("policy.toml: good\n"), "{said:?}");
}

/// A component that imports nothing gets nothing out of a grant.
#[test]
fn a_grant_that_is_never_used_is_a_note() {
    let place = Place::new(
        "[components.plain]\nsource = \"plain.wasm\"\ngrants.files = [{ host = \".\", guest = \"/d\" }]\ngrants.env = { A = \"b\" }\n",
    );
    let bytes = WatTool { call: "(call $ok)", ..WatTool::default() }.build().unwrap();
    std::fs::write(place.folder.path().join("plain.wasm"), bytes).unwrap();
    let json = place.check(&["--json"]).json();
    let notes = found(&json, "notes");
    assert!(notes.contains(&"components.plain.grants.files:4".to_owned()), "{json}");
    assert!(notes.contains(&"components.plain.grants.env:5".to_owned()), "{json}");
}

#[test]
fn a_limit_nobody_can_have_is_found_before_a_run_fails_on_it() {
    let place = Place::new("[defaults]\nlimits.memory = \"5GiB\"\n");
    let json = place.check(&["--json"]).json();
    assert_eq!(found(&json, "problems"), ["defaults.limits.memory:3"], "{json}");
    // What is checked is what really happens.
    let policy = place.policy();
    let file = place.folder.path().join("text-stats.wasm");
    let said = hotcell(&[
        "tool",
        "call",
        file.to_str().unwrap(),
        "count",
        "--args",
        "text=a",
        "--policy",
        policy.to_str().unwrap(),
    ]);
    assert_eq!(said.code, Some(1), "{said:?}");
}

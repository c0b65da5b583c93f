//! `hotcell doctor`: the truth about this machine, and an exit code that says whether it is enough.

use std::path::Path;

use hotcell_tests::command::{Said, run};
use hotcell_tests::guest;
use serde_json::Value;

fn doctor(folder: &Path, args: &[&str]) -> Said {
    // The folder of a temporary directory is open to others; the cache wants one of its own.
    let cache = folder.join("cache");
    run(&guest::binary(), &[&["doctor"], args].concat(), &[("HOTCELL_CACHE_DIR", cache.to_str().unwrap())])
}

fn states(json: &Value) -> Vec<(&str, &str)> {
    let text = |check: &'_ Value, key: &str| -> String { check[key].as_str().unwrap().to_owned() };
    assert!(
        json["checks"].as_array().unwrap().iter().all(|check| !text(check, "detail").is_empty()),
        "{json}"
    );
    let state = |check| -> (&str, &str) {
        let check: &Value = check;
        (check["name"].as_str().unwrap(), check["state"].as_str().unwrap())
    };
    json["checks"].as_array().unwrap().iter().map(state).collect()
}

#[test]
fn what_works_and_what_is_missing_is_said_of_engine_worker_walls_and_cache() {
    let folder = tempfile::tempdir().unwrap();
    let said = doctor(folder.path(), &["--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json = said.json();
    assert_eq!(
        (&json["ok"], &json["isolation"]),
        (&Value::Bool(true), &Value::from("best-effort")),
        "{json}"
    );
    let states = states(&json);
    for name in ["engine version", "engine features", "sandbox", "compile worker", "cache"] {
        assert!(states.contains(&(name, "good")), "{name}: {states:?}");
    }
    for name in ["Landlock", "seccomp", "no capabilities", "resource limits", "stack zeroing"] {
        assert!(states.iter().any(|(known, _)| *known == name), "{name}: {states:?}");
    }
    // The checks say of the walls what the compile process reported, one by one.
    let standing = json["walls"]["standing"].as_array().unwrap().len();
    let missing = json["walls"]["missing"].as_array().unwrap().len();
    assert_eq!(standing + missing, 8, "{json}");
    assert_eq!(json["advisories"]["affecting"], serde_json::json!([]), "{json}");
    assert!(json["advisories"]["known"].as_u64().unwrap() > 20, "{json}");
    assert_eq!(json["cache"]["folder"], folder.path().join("cache").to_str().unwrap(), "{json}");

    let said = doctor(folder.path(), &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for expected in ["wasmtime 48", "Landlock", "seccomp", "each compilation"] {
        assert!(said.out.contains(expected), "{expected}: {said:?}");
    }
}

/// Where every wall stands that a policy requires, all is well; where one does not, the exit code says so.
#[test]
fn walls_that_are_required_and_missing_are_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "version = 1\n[compile]\nisolation = \"required\"\n").unwrap();
    let said = doctor(folder.path(), &["--policy", policy.to_str().unwrap(), "--json"]);
    let json = said.json();
    assert_eq!(json["isolation"], "required", "{json}");
    let complete = json["walls"]["standing"].as_array().is_some_and(|standing| standing.len() == 8);
    assert_eq!((said.code, &json["ok"]), (Some(i32::from(!complete)), &Value::Bool(complete)), "{json}");
    let failed = states(&json).iter().any(|(_, state)| *state == "failed");
    assert_eq!(failed, !complete, "{json}");
}

#[test]
fn a_cache_that_cannot_be_used_is_missing_and_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cache"), "a file").unwrap();
    let said = doctor(folder.path(), &["--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(states(&said.json()).contains(&("cache", "missing")), "{said:?}");
}

#[test]
fn a_policy_that_is_wrong_is_an_error_and_not_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "version = 1\n[compile]\nisolation = \"always\"\n").unwrap();
    let said = doctor(folder.path(), &["--policy", policy.to_str().unwrap(), "--json"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(said.json()["error"]["code"], "policy", "{said:?}");
}

//! `docs/json.md` names each key that `--json` prints, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hotcell_tests::command::{hotcell, run};
use hotcell_tests::guest;
use serde_json::Value;

/// The keys of each section: the code span that begins a line of its list.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/json.md")).unwrap();
    let mut sections: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim_matches('`').to_owned();
        } else if let Some(key) = line.strip_prefix("- `") {
            let key = key.split('`').next().unwrap().to_owned();
            assert!(
                sections.entry(section.clone()).or_default().insert(key),
                "{section}: {line} is there twice"
            );
        }
    }
    sections
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "version = 1\n[components.notes]\ntools.read = { permission = \"ask\" }\n")
        .unwrap();
    let policy = policy.to_str().unwrap();
    let (notes, stats) = (guest::path("notes"), guest::path("text-stats"));
    let (notes, stats) = (notes.to_str().unwrap(), stats.to_str().unwrap());
    let cache = folder.path().join("cache");
    let environment = [("HOTCELL_CACHE_DIR", cache.to_str().unwrap())];
    let printed = [
        ("hotcell tool inspect FILE", hotcell(&["tool", "inspect", notes, "--policy", policy, "--json"])),
        ("hotcell tool inspect OLD NEW", hotcell(&["tool", "inspect", stats, notes, "--json"])),
        ("hotcell policy check FILE", hotcell(&["policy", "check", policy, "--json"])),
        (
            "hotcell policy explain COMPONENT",
            hotcell(&["policy", "explain", notes, "--policy", policy, "--json"]),
        ),
        ("hotcell doctor", run(&guest::binary(), &["doctor", "--json"], &environment)),
    ];
    let sections = documented();
    assert_eq!(sections.len(), printed.len(), "{:?}", sections.keys());
    for (command, said) in printed {
        assert_eq!(Some(&keys(&said.json())), sections.get(command), "{command}");
    }
}

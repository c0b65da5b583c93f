//! The rules, applied to this repository.

use std::collections::BTreeMap;

use hotcell_tidy::repository::Repository;
use hotcell_tidy::tokens::{Source, matches_at};
use hotcell_tidy::{
    arrows, births, commands, frozen, homes, loading, lock, manifests, one_door, parity, tree, unsafety,
    words,
};

fn repository() -> Repository {
    Repository::here().expect("the checkout this test was built in can be read")
}

/// Fails with each violation on a line of its own.
fn hold(rule: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{rule}\n  {}", violations.join("\n  "));
}

/// The Rust sources of the whole repository but templates, whose text is not Rust before it is filled in.
fn sources() -> Vec<Source> {
    let repository = repository();
    let read = |path| Source::parse(path, &repository.text(path)?);
    let rust = repository.below("", ".rs").filter(|path| !path.contains("/template"));
    rust.map(read).collect::<Result<_, _>>().expect("cargo has compiled these files, so they are Rust")
}

#[test]
fn crates_depend_only_along_the_listed_arrows() {
    let crates = arrows::crates(&repository()).unwrap();
    hold("the list of arrows in docs/architecture.md is complete:", &arrows::violations(&crates));
}

#[test]
fn a_tool_is_called_only_in_the_one_door() {
    let host = repository().sources("host").unwrap();
    hold("`Tool::call` is invoked in one function:", &one_door::violations(&host));
}

/// P-55.
#[test]
fn the_facade_without_default_features_is_light() {
    let light = tree::packages(&repository(), "hotcell", &["--no-default-features"]).unwrap();
    assert!(light.contains("hotcell-agent"), "the facade wires the loop: {light:?}");
    assert_eq!(tree::heavy(&light), [] as [&str; 0]);
    // The same question about the whole facade has another answer, so the question is the right one.
    let whole = tree::packages(&repository(), "hotcell", &[]).unwrap();
    assert!(["wasmtime", "reqwest"].iter().all(|name| tree::heavy(&whole).contains(name)), "{whole:?}");
}

#[test]
fn each_room_depends_directly_on_what_serves_it_and_uses_it() {
    let crates = arrows::crates(&repository()).unwrap();
    hold("these dependencies serve a room:", &homes::unserved(&crates, &homes::HOMES, &sources()));
}

#[test]
fn heavy_dependencies_have_one_home() {
    let crates = arrows::crates(&repository()).unwrap();
    hold("heavy dependencies have one home:", &homes::strays(&crates, &homes::HOMES));
    hold("later rooms bring these:", &homes::strays(&crates, &homes::LATER));
}

#[test]
fn lock_files_hold_no_old_engine_no_unknown_source_and_one_tls() {
    let repository = repository();
    let locks: Vec<&str> = repository.below("", "Cargo.lock").collect();
    assert!(locks.contains(&"Cargo.lock"), "the lock file is part of the repository");
    for path in locks {
        hold("dependencies:", &lock::violations(path, &repository.text(path).unwrap()).unwrap());
    }
}

#[test]
fn wit_files_are_frozen() {
    let repository = repository();
    let listed = frozen::parse(&repository.text("wit/HASHES").unwrap()).unwrap();
    let files: BTreeMap<String, String> = repository
        .below("wit", ".wit")
        .map(|path| {
            let digest = frozen::digest(&repository.bytes(path).unwrap());
            (path.trim_start_matches("wit/").to_owned(), digest)
        })
        .collect();
    assert!(!files.is_empty(), "wit/ has files");
    hold(frozen::RULE, &frozen::differences(&listed, &files));
}

#[test]
fn no_text_names_a_registry_host_or_a_place_of_one_machine() {
    let repository = repository();
    let found: Vec<String> = repository
        .files()
        .iter()
        .flat_map(|path| words::violations(path, &repository.bytes(path).unwrap()))
        .collect();
    hold("these words do not belong here:", &found);
}

#[test]
fn every_manifest_takes_lints_and_versions_from_its_workspace() {
    let repository = repository();
    let manifests = repository.below("", "Cargo.toml").filter(|path| !path.contains("/template"));
    let found: Vec<String> = manifests
        .flat_map(|path| manifests::violations(path, &repository.text(path).unwrap()).unwrap())
        .collect();
    hold("manifests:", &found);
}

#[test]
fn unsafe_code_is_listed_with_a_decision_note_and_explained() {
    hold("unsafe:", &unsafety::violations(&sources(), unsafety::EXCEPTIONS));
    for unsafety::Exception { path, note } in unsafety::EXCEPTIONS {
        assert!(repository().has(note), "{path} has `unsafe` because of {note}, which does not exist");
    }
}

#[test]
fn compiled_code_is_loaded_only_in_the_sandbox() {
    hold("loading:", &loading::violations(&sources()));
    assert_eq!(
        loading::places(&sources()),
        ["host/sandbox/src/component.rs: component_of"],
        "there is one door"
    );
}

#[test]
fn processes_are_not_started_by_a_copy_of_this_one() {
    hold("births:", &births::violations(&repository().sources("host").unwrap()));
}

#[test]
fn no_test_is_ignored() {
    let found: Vec<String> = sources()
        .iter()
        .flat_map(|source| {
            let ignored =
                (0..source.tokens.len()).filter(|at| matches_at(&source.tokens, *at, &["#", "[", "ignore"]));
            ignored.filter_map(|at| Some(format!("{}:{}", source.path, source.tokens.get(at)?.line)))
        })
        .collect();
    hold("a test runs or does not exist:", &found);
}

#[test]
fn every_documented_command_has_a_test() {
    let repository = repository();
    let documents = repository.files().iter().filter(|path| {
        path.ends_with(".md")
            && (path.starts_with("docs/") || path.ends_with("README.md"))
            && !path.contains("/template")
    });
    let shown: Vec<commands::Shown> =
        documents.flat_map(|path| commands::shown(path, &repository.text(path).unwrap())).collect();
    assert!(shown.iter().any(|shown| shown.command == "cargo xtask demo"), "the README starts with the demo");
    let list = repository.text("tests/docs-commands.txt").unwrap();
    hold("documented commands:", &commands::violations(&shown, &list, &commands::test_names(&sources())));
}

/// Least number of different tests behind the promises.
const LEAST_PROOFS: usize = 80;

#[test]
fn every_promise_names_the_tests_that_prove_it() {
    let table = repository().text(parity::TABLE).unwrap();
    let rows = parity::rows(&table).unwrap_or_else(|wrong| panic!("rows:\n  {}", wrong.join("\n  ")));
    hold(
        "the table of promises and the tests agree:",
        &parity::violations(&rows, &parity::claims(&sources())),
    );
    assert_eq!(parity::open(&rows), [] as [&str; 0], "no promise is open");
    let proofs = parity::proofs(&rows).len();
    assert!(proofs >= LEAST_PROOFS, "{proofs} tests stand behind the promises, at least {LEAST_PROOFS} do");
}

use super::*;
use crate::policy_file::load_policy_with_places;

/// A component that exports one function and imports nothing, with a memory of 32 pages.
const PLAIN: &str = r#"(component
  (core module $m (memory 32) (func (export "f")))
  (core instance $i (instantiate $m))
  (func (export "f") (canon lift (core func $i "f"))))"#;

fn found(body: &str) -> Vec<(Severity, String, usize)> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.wasm"), PLAIN).unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let path = folder.path().join("p.toml");
    std::fs::write(&path, format!("version = 1\n{body}")).unwrap();
    let (policy, places) = load_policy_with_places(&path).unwrap();
    let findings = check_policy(&policy, &places);
    assert!(findings.iter().all(|found| !found.help.is_empty()), "{findings:?}");
    let line = |found: &Finding| found.place.map_or(0, |place| place.line);
    findings.iter().map(|found| (found.severity, found.key.clone(), line(found))).collect()
}

fn check(body: &str, expected: &[(Severity, &str, usize)]) {
    let expected: Vec<_> = expected.iter().map(|(how, key, line)| (*how, (*key).to_owned(), *line)).collect();
    assert_eq!(found(body), expected, "{body}");
}

#[test]
fn limits_nobody_can_have_are_found_where_they_stand() {
    use Severity::{Note, Problem};
    check("", &[]);
    check("[defaults]\nlimits.memory = \"5GiB\"\n", &[(Problem, "defaults.limits.memory", 3)]);
    check(
        "[defaults.limits]\ntimeout = \"25h\"\nmemory = \"1KiB\"\n",
        &[(Problem, "defaults.limits.memory", 4), (Note, "defaults.limits.timeout", 3)],
    );
    check(
        "run.max_time = \"1s\"\ndefaults.limits.timeout = \"2s\"\n",
        &[(Note, "defaults.limits.timeout", 3)],
    );
}

#[test]
fn directories_and_sources_that_are_not_there_are_found_where_they_stand() {
    use Severity::{Note, Problem};
    check(
        "[components.a]\ngrants.files = [\n  { host = \"data\", guest = \"/a\" },\n  { host = \"no\", guest = \"/b\" },\n]\n",
        &[(Problem, "components.a.grants.files[1]", 5), (Note, "components.a", 2)],
    );
    check("[components.a]\nsource = \"b.wasm\"\n", &[(Problem, "components.a.source", 3)]);
    // Text is not the binary form, and the finding is the error of loading it.
    check("[components.a]\nsource = \"a.wasm\"\n", &[(Problem, "components.a.source", 3)]);
}

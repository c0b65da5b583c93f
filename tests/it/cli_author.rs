//! The way of a tool author, as `docs/tool-authors.md` tells it: new, test, build, inspect, call.

use std::path::Path;

use hotcell_tests::command::{Said, run};
use hotcell_tests::guest;

fn hotcell_in(folder: &Path, args: &[&str]) -> Said {
    let target = guest::target();
    let mut with_folder = vec!["-c", r#"cd "$0" && shift 0 && exec "$@""#, folder.to_str().unwrap()];
    let binary = guest::binary();
    with_folder.push(binary.to_str().unwrap());
    with_folder.extend(args);
    run(Path::new("/bin/sh"), &with_folder, &[("CARGO_TARGET_DIR", target.to_str().unwrap())])
}

#[test]
fn a_new_project_builds_and_its_tool_can_be_called() {
    let folder = tempfile::tempdir().unwrap();
    let said = hotcell_in(folder.path(), &["tool", "new", "word-count"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let project = folder.path().join("word-count");
    let said = hotcell_in(&project, &["tool", "build"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let component = project.join("word-count.wasm");
    let said = hotcell_in(&project, &["tool", "inspect", component.to_str().unwrap(), "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.json().to_string().contains("input_schema"), "definitions are embedded: {said:?}");
    let again = hotcell_in(folder.path(), &["tool", "new", "word-count"]);
    assert_eq!(again.code, Some(2), "an existing folder is not touched: {again:?}");
}

#[test]
fn a_project_that_does_not_compile_says_so_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(hotcell_in(folder.path(), &["tool", "new", "broken"]).code, Some(0));
    let project = folder.path().join("broken");
    std::fs::write(project.join("src/lib.rs"), "this is not Rust").unwrap();
    let said = hotcell_in(&project, &["tool", "build"]);
    assert!(matches!(said.code, Some(1 | 2)), "{said:?}");
    assert!(!project.join("broken.wasm").exists());
    let nothing = hotcell_in(folder.path(), &["tool", "build", "no-such-folder"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

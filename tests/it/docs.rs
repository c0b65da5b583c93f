//! Every command the documents show is run here as it stands, in their order.

use std::path::{Path, PathBuf};

use hotcell_tests::command::{Said, run};
use hotcell_tests::guest;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The commands in the fenced blocks of a document: lines after `$ ` in console blocks, and whole lines of
/// blocks without a language that start with `hotcell`; a backslash at the end of a line continues it.
fn commands(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).unwrap().replace("\\\n", " ");
    let mut found = Vec::new();
    let mut inside = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), None) => inside = Some(language),
            (Some(_), Some(_)) => inside = None,
            (None, Some("console")) => found.extend(line.strip_prefix("$ ").map(str::to_owned)),
            (None, Some("")) if line.starts_with("hotcell ") => found.push(line.to_owned()),
            (None, Some(_) | None) => {}
        }
    }
    found
}

/// Runs a line of shell where `hotcell` is on the path.
fn shell(folder: &Path, line: &str, target: &Path) -> Said {
    let binary = guest::binary().canonicalize().unwrap();
    let script = format!(
        "cd '{}' && PATH='{}':\"$PATH\" && {line}",
        folder.display(),
        binary.parent().unwrap().display()
    );
    run(Path::new("/bin/sh"), &["-c", &script], &[("CARGO_TARGET_DIR", target.to_str().unwrap())])
}

#[test]
fn the_commands_of_the_readme_work() {
    let commands = commands("README.md");
    let own = commands.iter().filter(|command| command.starts_with("hotcell"));
    assert_eq!(own.clone().count(), 4, "{commands:?}");
    for command in own {
        let said = shell(&root(), command, &guest::target());
        assert_eq!(said.code, Some(0), "{command}: {said:?}");
    }
}

#[test]
fn the_commands_for_tool_authors_work() {
    let folder = tempfile::tempdir().unwrap();
    let commands = commands("docs/tool-authors.md");
    let own: Vec<_> = commands
        .iter()
        .filter(|command| !command.starts_with("cargo xtask") && !command.starts_with("export"))
        .cloned()
        .collect();
    assert_eq!(own.len(), 6, "{commands:?}");
    let said = shell(folder.path(), &own.join(" && "), &guest::target());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("Hello, Ada!"), "{said:?}");
}

#[test]
fn the_commands_of_the_examples_work() {
    for tool in ["text-stats", "csv-query", "notes", "misbehave"] {
        let commands = commands(&format!("example-tools/{tool}/README.md"));
        assert!(commands.len() > 1, "{tool}: {commands:?}");
        for command in commands {
            let said = shell(&root(), &command, &guest::target());
            let expected = i32::from(command.contains("misbehave.wasm"));
            assert_eq!(said.code, Some(expected), "{command}: {said:?}");
        }
    }
}

#[test]
fn the_commands_about_policies_work() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("target/tools");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::copy(guest::path("notes"), tools.join("notes.wasm")).unwrap();
    let commands = commands("docs/policy.md");
    assert_eq!(commands.len(), 4, "{commands:?}");
    for command in commands {
        let said = shell(folder.path(), &command, &guest::target());
        assert_eq!(said.code, Some(0), "{command}: {said:?}");
    }
}

#[test]
fn the_commands_for_embedding_programs_work() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("target/tools");
    std::fs::create_dir_all(&tools).unwrap();
    for tool in ["text-stats", "notes"] {
        std::fs::copy(guest::path(tool), tools.join(format!("{tool}.wasm"))).unwrap();
    }
    let commands = commands("docs/embedding.md");
    assert_eq!(commands.len(), 2, "{commands:?}");
    for command in commands {
        let said = shell(folder.path(), &command, &guest::target());
        assert_eq!(said.code, Some(0), "{command}: {said:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path().join("artifacts/entries")).unwrap().count(), 2);
}

#[test]
fn the_policy_in_the_documents_is_accepted() {
    let text = std::fs::read_to_string(root().join("docs/policy.md")).unwrap();
    let whole = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    hotcell_core::policy::file::PolicyFile::parse(whole, "docs/policy.md").unwrap();
}

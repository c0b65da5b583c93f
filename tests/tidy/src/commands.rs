//! Every command that the documents show is one that a test runs.
//!
//! `tests/docs-commands.txt` maps each command to the test that runs it, a line
//! `COMMAND => TEST` each; `#` starts a comment. A command shown and not listed, a command listed
//! and not shown, and a test that does not exist are violations.
//! That the test really runs the command is for the reader of the list to see.

use std::collections::BTreeSet;

use crate::tokens::{Source, matches_at};

/// A command in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The document.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The command, without its prompt.
    pub command: String,
}

/// The commands in fenced blocks: in `console` blocks the lines that start with `$ `,
/// in `sh`, `bash` and `shell` blocks every line but comments.
#[must_use]
pub fn shown(path: &str, text: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut block = None;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if let Some(language) = content.strip_prefix("```") {
            block = if block.is_some() { None } else { Some(language.trim()) };
            continue;
        }
        let command = match block {
            Some("console") => content.strip_prefix("$ "),
            Some("sh" | "bash" | "shell") if !content.is_empty() && !content.starts_with('#') => {
                Some(content.strip_prefix("$ ").unwrap_or(content))
            }
            Some(_) | None => None,
        };
        found.extend(command.map(|command| Shown {
            path: path.to_owned(),
            line,
            command: command.trim().to_owned(),
        }));
    }
    found
}

/// Where the documents, the list and the tests disagree, one line each.
#[must_use]
pub fn violations(shown: &[Shown], list: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut listed = BTreeSet::new();
    for (number, line) in (1..).zip(list.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = format!("tests/docs-commands.txt:{number}");
        let Some((command, test)) = line.rsplit_once(" => ") else {
            found.push(format!("{at}: expected `COMMAND => TEST`, found `{line}`"));
            continue;
        };
        let (command, test) = (command.trim(), test.trim());
        if !listed.insert(command.to_owned()) {
            found.push(format!("{at}: `{command}` is listed twice"));
        }
        if !tests.contains(test) {
            found.push(format!("{at}: no test is called `{test}`"));
        }
        if !shown.iter().any(|shown| shown.command == command) {
            found.push(format!("{at}: no document shows `{command}`"));
        }
    }
    for Shown { path, line, command } in shown {
        if !listed.contains(command) {
            found.push(format!("{path}:{line}: `{command}` has no test in tests/docs-commands.txt"));
        }
    }
    found
}

/// The names of all functions with a test attribute.
#[must_use]
pub fn test_names(sources: &[Source]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for Source { tokens, .. } in sources {
        for at in 0..tokens.len() {
            let test = matches_at(tokens, at, &["#", "[", "test", "]"])
                || matches_at(tokens, at, &["#", "[", "tokio", ":", ":", "test"]);
            if !test {
                continue;
            }
            let name = tokens.iter().skip(at).skip_while(|token| !token.is_word("fn")).nth(1);
            names.extend(name.and_then(|token| token.word()).map(str::to_owned));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
Run it:

```console
$ hotcell demo
an answer
```

```sh
# comment
$ cargo xtask test
hotcell doctor

```

```toml
$ not a command
```
";

    fn commands() -> Vec<Shown> {
        shown("README.md", DOCUMENT)
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn commands_are_read_from_the_blocks_that_hold_commands() {
        let found: Vec<(usize, String)> =
            commands().into_iter().map(|shown| (shown.line, shown.command)).collect();
        let expected = [(4, "hotcell demo"), (10, "cargo xtask test"), (11, "hotcell doctor")];
        assert_eq!(found, expected.map(|(line, command)| (line, command.to_owned())));
    }

    #[test]
    fn a_list_that_covers_the_documents_is_accepted() {
        let list =
            "# why\nhotcell demo => demo_works\ncargo xtask test => all\n\nhotcell doctor => demo_works\n";
        assert_eq!(violations(&commands(), list, &names(&["demo_works", "all"])), [] as [String; 0]);
    }

    #[test]
    fn what_is_not_listed_not_shown_not_a_test_or_listed_twice_is_found() {
        let list = "hotcell demo => demo_works\nhotcell demo => demo_works\nhotcell gone => gone\nnonsense\n";
        assert_eq!(
            violations(&commands(), list, &names(&["demo_works"])),
            [
                "tests/docs-commands.txt:2: `hotcell demo` is listed twice",
                "tests/docs-commands.txt:3: no test is called `gone`",
                "tests/docs-commands.txt:3: no document shows `hotcell gone`",
                "tests/docs-commands.txt:4: expected `COMMAND => TEST`, found `nonsense`",
                "README.md:10: `cargo xtask test` has no test in tests/docs-commands.txt",
                "README.md:11: `hotcell doctor` has no test in tests/docs-commands.txt",
            ]
        );
    }

    #[test]
    fn tests_are_functions_with_a_test_attribute() {
        let text = "#[test] fn one() {} #[tokio::test(flavor = \"x\")] async fn two() {} fn three() {}";
        let source = Source::parse("tests/x.rs", text).unwrap();
        assert_eq!(test_names(&[source]), names(&["one", "two"]));
    }
}

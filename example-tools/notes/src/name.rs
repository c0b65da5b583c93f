//! Names of notes.

use hotcell_tool::Failure;

/// Longest name in characters.
const MAX_CHARS: usize = 100;

/// The name of a note: a file name that cannot lead anywhere else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NoteName(String);

impl NoteName {
    /// Checks a name a model sent.
    pub(crate) fn parse(name: String) -> Result<Self, Failure> {
        let reason = if name.is_empty() {
            "is empty".to_owned()
        } else if name.chars().count() > MAX_CHARS {
            format!("has more than {MAX_CHARS} characters")
        } else if name.contains(['/', '\\']) {
            "is a path, and notes lie in one directory without folders".to_owned()
        } else if name.starts_with('.') {
            "starts with a dot".to_owned()
        } else if name != name.trim() || name.ends_with('.') {
            "starts or ends with a space, or ends with a dot".to_owned()
        } else if let Some(wrong) =
            name.chars().find(|c| !c.is_alphanumeric() && !matches!(c, ' ' | '-' | '_' | '.'))
        {
            format!("has the character {wrong:?}")
        } else {
            return Ok(Self(name));
        };
        let shown: String = name.chars().take(MAX_CHARS).collect();
        Err(Failure::invalid_input(format!("{shown:?} cannot be the name of a note: it {reason}"))
            .code("name")
            .advice("use letters, digits, spaces, `-`, `_` and `.`, such as `shopping list`"))
    }

    /// The name of a note behind a file name; none for files that are no notes.
    pub(crate) fn of_file(file: &str) -> Option<Self> {
        Self::parse(file.strip_suffix(".md")?.to_owned()).ok()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn file(&self) -> String {
        format!("{}.md", self.0)
    }

    /// Where a note is written before it takes its place; no name of a note starts with a dot.
    pub(crate) fn draft(&self) -> String {
        format!(".{}.md.draft", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_notes() {
        for name in ["a", "shopping list", "2026-11 plan_v1.2", "Käse", &"x".repeat(100)] {
            let parsed = NoteName::parse(name.to_owned()).unwrap();
            assert_eq!(NoteName::of_file(&parsed.file()), Some(parsed));
        }
    }

    #[test]
    fn path_tricks_are_refused_with_a_reason() {
        let long = "x".repeat(101);
        for name in [
            "",
            ".",
            "..",
            "../x",
            "/etc/passwd",
            "a/b",
            "a\\b",
            ".hidden",
            "a.",
            " a",
            "a\0b",
            "a\nb",
            "a:b",
            "C:",
            "a*",
            "~",
            "a\u{202e}b",
            &long,
        ] {
            let failure = NoteName::parse(name.to_owned()).unwrap_err();
            assert_eq!(failure.code.as_deref(), Some("name"), "{name:?}");
        }
        for file in ["a", "a.txt", ".a.md", ".a.md.draft", "a/b.md"] {
            assert_eq!(NoteName::of_file(file), None, "{file}");
        }
    }
}

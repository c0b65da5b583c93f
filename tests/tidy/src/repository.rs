//! The checkout as the checkers see it: its files, without what cargo and git keep there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::tokens::Source;

/// Folders that hold no files of ours.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// How deep folders are followed; ours are about six deep.
const MAX_DEPTH: usize = 24;

/// How many files are read at most; a checkout has some hundreds.
const MAX_FILES: usize = 20_000;

/// All files of a checkout, by their path from its root.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
    files: Vec<String>,
}

impl Repository {
    /// Lists the checkout that cargo tests.
    ///
    /// The folder known when this crate was compiled is only the second choice: checkouts that share a
    /// target folder share the binary.
    ///
    /// # Errors
    /// A folder cannot be read, or there is no end to folders or files.
    #[expect(clippy::disallowed_methods, reason = "cargo says through a variable which checkout it tests")]
    pub fn here() -> Result<Self> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR");
        let package = package.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = package.join("../..");
        let root = root.canonicalize().with_context(|| format!("cannot find {}", root.display()))?;
        Self::at(root)
    }

    /// Lists the checkout at `root`.
    ///
    /// # Errors
    /// A folder cannot be read, or there is no end to folders or files.
    pub fn at(root: PathBuf) -> Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![(root.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            if depth > MAX_DEPTH || files.len() > MAX_FILES {
                bail!("stopped at {}: more than {MAX_DEPTH} levels or {MAX_FILES} files", folder.display());
            }
            for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
                let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
                let kind =
                    entry.file_type().with_context(|| format!("cannot read {}", entry.path().display()))?;
                let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
                if kind.is_dir() && !skipped {
                    folders.push((entry.path(), depth + 1));
                } else if kind.is_file() {
                    files.push(from_root(&root, &entry.path())?);
                }
            }
        }
        files.sort();
        Ok(Self { root, files })
    }

    /// The root folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The paths of all files, sorted, with `/` between folders.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Whether a file exists.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file == path)
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>> {
        std::fs::read(self.root.join(path)).with_context(|| format!("cannot read {path}"))
    }

    /// The text of a file.
    ///
    /// # Errors
    /// It cannot be read or is not UTF-8.
    pub fn text(&self, path: &str) -> Result<String> {
        String::from_utf8(self.bytes(path)?).with_context(|| format!("{path} is not UTF-8"))
    }

    /// The files below `folder` whose names end with `ending`.
    pub fn below<'a>(&'a self, folder: &'a str, ending: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.iter().map(String::as_str).filter(move |path| {
            path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || folder.is_empty())
                && path.ends_with(ending)
        })
    }

    /// The Rust sources below `folder`.
    ///
    /// # Errors
    /// A file cannot be read or is not Rust.
    pub fn sources(&self, folder: &str) -> Result<Vec<Source>> {
        self.below(folder, ".rs").map(|path| Source::parse(path, &self.text(path)?)).collect()
    }
}

fn from_root(root: &Path, path: &Path) -> Result<String> {
    let path =
        path.strip_prefix(root).context("a listed file lies outside of the folder it was listed in")?;
    let parts: Option<Vec<&str>> = path.components().map(|part| part.as_os_str().to_str()).collect();
    Ok(parts.with_context(|| format!("the file name {} is not UTF-8", path.display()))?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_is_listed_without_what_cargo_and_git_keep_there() {
        let repository = Repository::here().unwrap();
        assert!(repository.has("Cargo.toml"));
        assert!(repository.has("tests/tidy/src/repository.rs"));
        assert!(
            !repository.files().iter().any(|path| path.starts_with(".git/") || path.starts_with("target/"))
        );
        assert!(repository.below("wit", ".wit").count() >= 5);
        assert_eq!(repository.below("wi", ".wit").count(), 0, "a folder is more than a prefix");
    }
}

//! Holds the hashes of the WIT files, so that a published interface cannot change unnoticed.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// What to do when a hash differs.
pub const RULE: &str = "before the first tagged release a change needs a line in CHANGELOG.md; \
    after it, restore the file and add a new version of the package beside it. \
    Then, in wit/: sha256sum */*.wit > HASHES";

/// The SHA-256 digest of a file, in lower-case hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads `DIGEST  PATH` lines, as sha256sum writes them.
///
/// # Errors
/// A line of another form, or lines that are not sorted by path.
pub fn parse(text: &str) -> Result<BTreeMap<String, String>> {
    let mut hashes = BTreeMap::new();
    let mut last = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let (digest, path) = line
            .split_once("  ")
            .with_context(|| format!("wit/HASHES:{number}: expected `DIGEST  PATH`, found `{line}`"))?;
        if digest.len() != 64 || !digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            bail!("wit/HASHES:{number}: expected 64 lower-case hexadecimal digits, found `{digest}`");
        }
        if path <= last.as_str() {
            bail!("wit/HASHES:{number}: expected the paths sorted, found `{path}` after `{last}`");
        }
        path.clone_into(&mut last);
        hashes.insert(path.to_owned(), digest.to_owned());
    }
    Ok(hashes)
}

/// Where the listed hashes and those of the files differ, one line each.
#[must_use]
pub fn differences(listed: &BTreeMap<String, String>, files: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, digest) in files {
        match listed.get(path) {
            Some(expected) if expected == digest => {}
            Some(expected) => found.push(format!("wit/{path}: changed, expected {expected}, found {digest}")),
            None => found.push(format!("wit/{path}: not listed in wit/HASHES")),
        }
    }
    let gone = listed.keys().filter(|path| !files.contains_key(*path));
    found.extend(gone.map(|path| format!("wit/{path}: listed in wit/HASHES and gone")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of no bytes, as in FIPS 180.
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned())).collect()
    }

    #[test]
    fn the_digest_is_sha_256() {
        assert_eq!(digest(b""), EMPTY);
    }

    #[test]
    fn a_changed_a_new_and_a_removed_file_are_found() {
        let listed = map(&[("a.wit", "1"), ("b.wit", "2"), ("c.wit", "3")]);
        assert_eq!(differences(&listed, &listed), [] as [String; 0]);
        let files = map(&[("a.wit", "1"), ("b.wit", "9"), ("d.wit", "4")]);
        assert_eq!(
            differences(&listed, &files),
            [
                "wit/b.wit: changed, expected 2, found 9",
                "wit/d.wit: not listed in wit/HASHES",
                "wit/c.wit: listed in wit/HASHES and gone",
            ]
        );
    }

    #[test]
    fn the_list_is_read_as_sha256sum_writes_it() {
        let text = format!("{EMPTY}  a/a.wit\n{EMPTY}  b/b.wit\n");
        assert_eq!(parse(&text).unwrap(), map(&[("a/a.wit", EMPTY), ("b/b.wit", EMPTY)]));
        for (bad, part) in [
            (format!("{EMPTY}  b\n{EMPTY}  a\n"), "HASHES:2: expected the paths sorted"),
            (format!("{EMPTY} a\n"), "HASHES:1: expected `DIGEST  PATH`"),
            ("abc  a\n".to_owned(), "HASHES:1: expected 64 lower-case"),
        ] {
            let message = parse(&bad).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}

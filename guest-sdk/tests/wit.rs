//! The WIT files that ship in this crate.

#![expect(clippy::unwrap_used, reason = "a test may fail that way")]

use std::fs;
use std::path::{Path, PathBuf};

/// Every WIT file below a folder, by its path in it.
fn files(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for package in fs::read_dir(root).unwrap() {
        let package = package.unwrap().path();
        if !package.is_dir() {
            continue;
        }
        for file in fs::read_dir(package).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "wit") {
                let text = fs::read_to_string(&file).unwrap();
                found.push((file.strip_prefix(root).unwrap().to_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// A published crate cannot reach files beside it, so it has a copy; this test keeps it one.
#[test]
fn the_copy_in_this_crate_equals_the_packages_of_the_project() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (copy, original) = (files(&here.join("wit")), files(&here.join("../wit")));
    assert!(!copy.is_empty());
    for (path, text) in &copy {
        let found = original.iter().find(|(known, _)| known == path);
        assert_eq!(
            found.map(|(_, text)| text),
            Some(text),
            "guest-sdk/wit/{0} differs from wit/{0}; copy it",
            path.display()
        );
    }
}

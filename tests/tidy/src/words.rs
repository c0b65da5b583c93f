//! Words that must not be in the repository: paths of one machine, and names that mean
//! something only to whoever wrote the text.

/// Hosts of package registries, private notes and machine paths, in two halves each,
/// so that this file does not hold what it looks for.
const FORBIDDEN: [(&str, &str); 23] = [
    ("/wor", "k/"),
    ("/root/.car", "go"),
    ("/home/us", "er"),
    ("static.crates", ".io"),
    ("index.crates", ".io"),
    ("pypi", ".org"),
    ("pythonhosted", ".org"),
    ("registry.npmjs", ".org"),
    ("deb.debian", ".org"),
    ("proxy.golang", ".org"),
    ("shared/DESI", "GN"),
    ("shared/STY", "LE"),
    ("shared/sp", "ec"),
    ("DESIGN", ".md"),
    ("STYLE", ".md"),
    ("DESIGN sec", "tion"),
    ("DESIGN ru", "le"),
    ("STYLE sec", "tion"),
    ("spec/eng", "ine"),
    ("spec/thr", "eat"),
    ("spec/was", "m-host"),
    ("spec/agent-par", "ity"),
    ("spec/depend", "encies"),
];

/// Lock files name their registry, and only cargo writes them.
const EXEMPT: &str = "Cargo.lock";

/// Each line of a text that holds a forbidden word; a file that is not text has none.
#[must_use]
pub fn violations(path: &str, bytes: &[u8]) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    if path.rsplit('/').next() == Some(EXEMPT) || text.contains('\0') {
        return Vec::new();
    }
    let forbidden = FORBIDDEN.map(|(start, end)| format!("{start}{end}"));
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for word in forbidden.iter().filter(|word| line.contains(word.as_str())) {
            found.push(format!("{path}:{number}: `{word}` means nothing outside of one machine or team"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_forbidden_word_is_found_with_its_line() {
        for (start, end) in FORBIDDEN {
            let text = format!("first\nsee {start}{end} there\n");
            let found = violations("README.md", text.as_bytes());
            assert!(found.iter().any(|line| line.starts_with("README.md:2: ")), "{start}{end}: {found:?}");
        }
    }

    #[test]
    fn lock_files_and_files_that_are_not_text_are_not_searched() {
        let text = format!("{}{}", FORBIDDEN[0].0, FORBIDDEN[0].1);
        assert_eq!(violations("README.md", text.as_bytes()).len(), 1);
        assert_eq!(violations("example-tools/Cargo.lock", text.as_bytes()), [] as [String; 0]);
        assert_eq!(violations("x.wasm", format!("\0{text}").as_bytes()), [] as [String; 0]);
        assert_eq!(violations("x.wasm", &[b"\xff", text.as_bytes()].concat()), [] as [String; 0]);
    }
}

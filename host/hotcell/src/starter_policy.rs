//! The smallest policy that lets components work, to be completed by the operator.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hotcell_compiler::Inspection;
use hotcell_compiler::inspect::Capability;
use hotcell_core::ids::{MAX_ID_BYTES, ToolName};
use hotcell_core::policy::file::{key_path, quoted};
use hotcell_core::text::{cap_bytes, escape_control};

/// Characters of a component's name that make a prefix.
const MAX_PREFIX_CHARS: usize = 20;

/// A component a policy is to be written for.
#[derive(Debug, Clone)]
pub struct PolicySubject {
    /// Where it is, as the policy file will name it.
    pub source: PathBuf,
    /// What is known of it.
    pub inspection: Inspection,
}

/// Writes a policy with one entry for each component: its source, its digest and its tools.
///
/// What a component could reach and nobody can guess, such as which directory, follows as a comment that says what to
/// write; nothing is granted, and no permission is set, whatever the component says of itself.
/// Two components of one name are told apart by a number.
#[must_use]
pub fn starter_policy(subjects: &[PolicySubject]) -> String {
    let mut text =
        "# What an operator allows: pass it with `--policy`, or name it in HOTCELL_POLICY.\nversion = 1\n"
            .to_owned();
    let mut names: Vec<String> = Vec::new();
    let mut offered = BTreeSet::new();
    for subject in subjects {
        let name = unused_name(&subject.source, &names);
        let prefix = needed_prefix(&name, &subject.inspection, &mut offered);
        entry(&mut text, &name, prefix.as_deref(), subject);
        names.push(name);
    }
    text
}

/// A prefix that keeps the tools apart from those of the components before; none where they are apart already.
fn needed_prefix(name: &str, inspection: &Inspection, offered: &mut BTreeSet<ToolName>) -> Option<String> {
    let own: Vec<_> = inspection.definitions.iter().flatten().map(|known| &known.name).collect();
    let free = |offered: &BTreeSet<ToolName>, prefix: &str| -> Option<Vec<ToolName>> {
        let names = own.iter().map(|own| ToolName::parse(format!("{prefix}{own}")).ok());
        names.map(|name| name.filter(|name| !offered.contains(name))).collect()
    };
    let legal = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let word: String = name.chars().filter(legal).take(MAX_PREFIX_CHARS).collect();
    let numbered = (2..100).map(|number| format!("{word}{number}_"));
    let prefixes = ["".to_owned(), format!("{word}_")].into_iter().chain(numbered);
    let (names, prefix) = prefixes.into_iter().find_map(|prefix| Some((free(offered, &prefix)?, prefix)))?;
    offered.extend(names);
    Some(prefix).filter(|prefix| !prefix.is_empty())
}

fn unused_name(source: &Path, taken: &[String]) -> String {
    let stem = source.file_stem().map(|stem| escape_control(&stem.to_string_lossy())).unwrap_or_default();
    // Room for the number stays.
    let stem = cap_bytes(&stem, MAX_ID_BYTES - 8).to_owned();
    let stem = if stem.is_empty() { "component".to_owned() } else { stem };
    let numbered = (2_u32..).map(|number| format!("{stem}-{number}"));
    std::iter::once(stem.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(stem)
}

fn entry(text: &mut String, name: &str, prefix: Option<&str>, subject: &PolicySubject) {
    let inspection = &subject.inspection;
    let mut line = |part: std::fmt::Arguments<'_>| {
        if writeln!(text, "{part}").is_err() {
            unreachable!("writing to a string cannot fail");
        }
    };
    line(format_args!("\n[{}]", key_path(&["components", name])));
    line(format_args!("source = {}", quoted(&subject.source.to_string_lossy())));
    line(format_args!("# Other bytes are refused; after an update, inspect the new file and change this."));
    line(format_args!("digest = \"{}\"", inspection.digest));
    match &inspection.definitions {
        Some(definitions) => {
            let names: Vec<_> = definitions.iter().map(|known| quoted(known.name.as_str())).collect();
            line(format_args!("# The tools that models see."));
            line(format_args!("expose = [{}]", names.join(", ")));
        }
        None => line(format_args!(
            "# Its tools are not embedded, so all of them are offered; `expose = [...]` selects some."
        )),
    }
    if let Some(prefix) = prefix {
        line(format_args!("# Another component has a tool of the same name."));
        line(format_args!("prefix = {}", quoted(prefix)));
    }
    for advice in inspection
        .ceilings
        .iter()
        .filter(|ceiling| ceiling.possible)
        .filter_map(|ceiling| grant_lines(ceiling.capability))
    {
        line(format_args!("{advice}"));
    }
}

/// What to write so that the component gets this; none for what it has anyway.
fn grant_lines(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Files => Some(
            "# It can use files, and has none. Name a directory, and the path at which the tool looks for it (its own\n\
             # documentation says which). With a directory, each call asks first, unless `permission` says otherwise.\n\
             # grants.files = [{ host = \"./DIRECTORY\", guest = \"/data\", access = \"read-only\" }]",
        ),
        Capability::Environment => Some(
            "# It can read environment variables, and has none; those of the host are never passed on:\n\
             # grants.env = { NAME = \"VALUE\" }",
        ),
        Capability::Network => Some("# It asks for HTTP, which this version cannot grant."),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotcell_core::policy::file::PolicyFile;

    /// A component that can use files and does not name its tools.
    const COMPONENT: &str = r#"(component
        (import "wasi:filesystem/preopens@0.2.6" (instance))
        (core module $m (func (export "run")))
        (core instance $i (instantiate $m))
        (func (export "run") (canon lift (core func $i "run"))))"#;

    fn subject(source: &str) -> PolicySubject {
        let inspection = hotcell_compiler::inspect(&wat::parse_str(COMPONENT).unwrap()).unwrap();
        PolicySubject { source: source.into(), inspection }
    }

    #[test]
    fn it_is_a_good_policy_that_grants_nothing() {
        let odd = "a dir/\u{202e}we\"ird\\.wasm";
        let text = starter_policy(&[subject("tools/notes.wasm"), subject("other/notes.wasm"), subject(odd)]);
        let policy = PolicyFile::parse(&text, "p.toml").unwrap();
        let names: Vec<_> = policy.components.keys().map(String::as_str).collect();
        assert!(names.contains(&"notes") && names.contains(&"notes-2"), "{names:?}");
        assert!(
            policy.components.values().all(|entry| entry.grants == hotcell_core::grant::Grants::default())
        );
        assert!(
            policy.components.values().any(|entry| entry.source.as_deref() == Some(Path::new(odd))),
            "{text}"
        );
        assert!(policy.components.values().all(|entry| entry.permission.is_none() && entry.digest.is_some()));
    }

    #[test]
    fn tools_of_one_name_get_a_prefix_where_they_need_one() {
        let definitions = vec![
            serde_json::from_str(
                r#"{"name": "run", "description": "d", "input_schema": {"type": "object"}}"#,
            )
            .unwrap(),
        ];
        let subjects = ["a.wasm", "b.wasm", "x/b.wasm"].map(|source| {
            let mut subject = subject(source);
            subject.inspection.definitions = Some(definitions.clone());
            subject
        });
        let policy = PolicyFile::parse(&starter_policy(&subjects), "p.toml").unwrap();
        let prefixes: Vec<_> = policy.components.values().map(|entry| entry.prefix.as_deref()).collect();
        assert_eq!(prefixes, [None, Some("b_"), Some("b-2_")]);
    }

    /// What is left to the operator is right as soon as the mark of the comment is taken away.
    #[test]
    fn the_lines_in_comments_are_good_as_well() {
        let text = starter_policy(&[subject("notes.wasm")]).replace("# grants.", "grants.");
        let policy = PolicyFile::parse(&text, "p.toml").unwrap();
        assert_eq!(policy.components["notes"].grants.files.len(), 1);
    }
}

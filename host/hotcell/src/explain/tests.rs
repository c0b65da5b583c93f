use hotcell_core::grant::parse_grant;
use hotcell_core::ids::Digest;
use hotcell_core::policy::file::PolicyFile;

use super::*;

const TEXT: &str = "version = 1
[defaults]
permission = \"deny\"
limits = { timeout = \"3s\" }
[components.notes]
prefix = \"n_\"
expose = [\"list\", \"write\"]
grants.files = [{ host = \"data\", guest = \"/notes\" }]
grants.env = { LANG = \"C\" }
permission = \"auto\"
limits = { timeout = \"2s\" }
tools.write = { permission = \"ask\", timeout = \"1s\" }
";

fn explained(name: &str, typed: &[&str]) -> Explanation {
    let policy = PolicyFile::parse(TEXT, "p.toml").unwrap();
    let terms = Terms::new(name).under(&policy, Digest::of(b"")).unwrap();
    let mut grants = Grants::default();
    for grant in typed {
        grants.add(parse_grant(grant).unwrap()).unwrap();
    }
    explain(&terms, &PolicyFile::places(TEXT), &grants, None)
}

fn line(source: &Source) -> Option<usize> {
    source.place.map(|place| place.line)
}

#[test]
fn each_value_names_the_line_that_decides_it_and_the_lines_that_do_not_count() {
    let explanation = explained("notes", &[]);
    assert_eq!(explanation.entry.as_ref().and_then(line), Some(5));
    let write = explanation.tools.iter().find(|tool| tool.tool == "write").unwrap();
    assert_eq!((write.verdict, write.offered_as.as_deref()), (Some(Verdict::Ask), Some("n_write")));
    assert_eq!(write.named_by.as_ref().and_then(line), Some(6));
    assert_eq!((write.permission.value.as_str(), line(&write.permission.by)), ("ask", Some(12)));
    let overruled: Vec<_> = write.permission.instead_of.iter().map(|other| line(&other.by)).collect();
    assert_eq!(overruled, [Some(10), Some(3)]);
    let timeout = write.limits.iter().find(|limit| limit.subject == "timeout").unwrap();
    assert_eq!((timeout.value.as_str(), line(&timeout.by)), ("1.00 s", Some(12)));
    let overruled: Vec<_> = timeout.instead_of.iter().map(|other| line(&other.by)).collect();
    assert_eq!(overruled, [Some(11), Some(4)]);
    let fuel = write.limits.iter().find(|limit| limit.subject == "fuel").unwrap();
    assert_eq!((fuel.by.origin, fuel.value.as_str()), (Origin::BuiltIn, "1000000000000"));
}

#[test]
fn auto_asks_because_of_files_and_a_typed_grant_takes_the_place_of_the_policys() {
    let list = |explanation: &Explanation| explanation.tools[0].clone();
    let explanation = explained("notes", &[]);
    assert_eq!((list(&explanation).verdict, explanation.grants.len()), (Some(Verdict::Ask), 2));
    assert!(list(&explanation).reason.contains("given files"), "{:?}", list(&explanation));
    assert_eq!(line(&explanation.grants[0].by), Some(8));
    let explanation = explained("notes", &["files=other:/notes:rw"]);
    assert_eq!(explanation.grants.len(), 2);
    let typed = explanation.grants.iter().find(|grant| grant.by.origin == Origin::Typed).unwrap();
    assert_eq!(typed.text, "reads and writes other as /notes");
}

#[test]
fn a_component_without_an_entry_goes_by_the_defaults() {
    let explanation = explained("other", &[]);
    assert_eq!((explanation.entry, explanation.tools.len()), (None, 0));
}

/// The explanation has no precedence of its own, so it cannot differ from what calls go by.
#[test]
fn what_is_explained_is_what_holds() {
    let policy = PolicyFile::parse(TEXT, "p.toml").unwrap();
    let terms = Terms::new("notes").under(&policy, Digest::of(b"")).unwrap();
    for tool in explain(&terms, &PolicyFile::places(TEXT), &Grants::default(), None).tools {
        assert_eq!(tool.permission.value, permission_word(terms.permission(&tool.tool)));
        let limits = terms.limits(&tool.tool);
        let value =
            |subject| tool.limits.iter().find(|limit| limit.subject == subject).unwrap().value.clone();
        assert_eq!(value("timeout"), format_duration(limits.timeout));
        assert_eq!(value("memory"), format_bytes(limits.memory_bytes));
        assert_eq!(value("fuel"), limits.fuel.to_string());
    }
}

use tempfile::TempDir;

use super::*;

struct Desk {
    folder: TempDir,
    store: Store,
}

fn desk() -> Desk {
    let folder = TempDir::new().unwrap();
    Desk { store: Store::open(folder.path()).unwrap(), folder }
}

fn name(text: &str) -> NoteName {
    NoteName::parse(text.to_owned()).unwrap()
}

#[test]
fn what_was_written_can_be_listed_read_and_found() {
    let Desk { store, folder: _kept } = desk();
    let written = store.write(&name("b"), "First line\nTEA and cake\n", Mode::Create).unwrap();
    assert_eq!(written, Written { name: "b".into(), bytes: 24, created: true });
    store.write(&name("a"), "tea", Mode::Append).unwrap();

    let notes = vec![Note { name: "a".into(), bytes: 3 }, Note { name: "b".into(), bytes: 24 }];
    assert_eq!(store.list().unwrap(), Listing { notes, more: false });
    assert_eq!(store.read(&name("b")).unwrap(), "First line\nTEA and cake\n");
    let found = store.search("Tea", 10).unwrap();
    let matches = vec![
        Match { note: "a".into(), line: 1, text: "tea".into() },
        Match { note: "b".into(), line: 2, text: "TEA and cake".into() },
    ];
    assert_eq!(found, Matches { matches, more: false, skipped: Vec::new() });
    let first = store.search("tea", 1).unwrap();
    assert!(first.more && first.matches.len() == 1);
}

#[test]
fn a_note_is_only_replaced_when_that_was_asked_for() {
    let Desk { store, folder } = desk();
    let note = name("plan");
    store.write(&note, "one", Mode::Create).unwrap();
    let refused = store.write(&note, "two", Mode::Create).unwrap_err();
    assert_eq!(
        (refused.fault, refused.code.as_deref(), refused.effect_possible),
        (Fault::Conflict, Some("exists"), false)
    );
    assert_eq!(store.read(&note).unwrap(), "one");

    store.write(&note, ", two", Mode::Append).unwrap();
    assert_eq!(store.read(&note).unwrap(), "one, two");
    let written = store.write(&note, "three", Mode::Replace).unwrap();
    assert_eq!(written, Written { name: "plan".into(), bytes: 5, created: false });
    assert_eq!(store.read(&note).unwrap(), "three");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left behind");
}

#[test]
fn sizes_are_bounded_on_both_ways() {
    let Desk { store, folder } = desk();
    let limit = usize::try_from(MAX_NOTE_BYTES).unwrap();
    store.write(&name("full"), &"x".repeat(limit), Mode::Create).unwrap();
    let refused = store.write(&name("full"), "y", Mode::Append).unwrap_err();
    assert_eq!((refused.fault, refused.code.as_deref()), (Fault::InvalidInput, Some("too_large")));
    fs::write(folder.path().join("large.md"), "tea".repeat(limit)).unwrap();
    fs::write(folder.path().join("binary.md"), [0xff, 0xfe]).unwrap();
    assert_eq!(store.read(&name("large")).unwrap_err().code.as_deref(), Some("too_large"));
    assert_eq!(store.read(&name("binary")).unwrap_err().code.as_deref(), Some("not_text"));
    assert_eq!(store.search("tea", 10).unwrap().skipped, ["binary", "large"]);
}

#[test]
fn missing_notes_and_directories_say_what_to_do() {
    let Desk { store, folder: _kept } = desk();
    let missing = store.read(&name("nothing")).unwrap_err();
    assert_eq!((missing.fault, missing.message.as_str()), (Fault::NotFound, "there is no note `nothing`"));
    let refused = Store::open("/no/such/directory").unwrap_err();
    assert_eq!(refused.fault, Fault::Denied);
    assert!(refused.advice.unwrap().contains("--grant files="));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let Desk { store, folder } = desk();
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret"), "tea").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("link.md")).unwrap();
    assert_eq!(store.list().unwrap().notes, []);
    for failure in [
        store.read(&name("link")).unwrap_err(),
        store.write(&name("link"), "x", Mode::Replace).unwrap_err(),
        store.write(&name("link"), "x", Mode::Append).unwrap_err(),
    ] {
        assert_eq!((failure.fault, failure.code.as_deref()), (Fault::Denied, Some("not_a_file")));
    }
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "tea");
}

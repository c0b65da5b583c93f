//! A guest reaches what was granted and nothing else.

use std::fs;

use hotcell_core::grant::{Access, FileGrant, Grants};
use hotcell_core::outcome::Outcome;
use hotcell_tests::call::{Call, load, sandbox};
use hotcell_tests::{guest, health};

fn grants(host: &std::path::Path, access: Access) -> Grants {
    Grants {
        files: vec![FileGrant { host: host.to_path_buf(), guest: "/notes".into(), access }],
        ..Grants::default()
    }
}

#[tokio::test]
async fn without_grants_there_are_no_files_and_no_environment() {
    let sandbox = sandbox();
    let misbehave = load(&sandbox, &guest::bytes("misbehave")).prepare(&Grants::default()).unwrap();
    let report = Call::new(&misbehave, "read_outside", "{}").run(&misbehave).await;
    assert_eq!(report.outcome, Outcome::ToolError, "{report:?}");
    let report = Call::new(&misbehave, "read_env", "{}").run(&misbehave).await;
    let said = format!("{report:?}");
    for (name, _value) in std::env::vars() {
        assert!(!said.contains(&format!("{name}=")), "{name} of the host reached the guest");
    }
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn notes_are_written_read_and_found_in_the_granted_directory() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = sandbox();
    let notes =
        load(&sandbox, &guest::bytes("notes")).prepare(&grants(folder.path(), Access::ReadWrite)).unwrap();
    let write = Call::new(&notes, "write", r#"{"name":"a","text":"hello hotcell"}"#).run(&notes).await;
    assert_eq!(write.outcome, Outcome::Ok, "{write:?}");
    assert_eq!(fs::read_to_string(folder.path().join("a.md")).unwrap(), "hello hotcell");
    let read = Call::new(&notes, "read", r#"{"name":"a"}"#).run(&notes).await;
    assert!(format!("{read:?}").contains("hello hotcell"), "{read:?}");
    let outside = Call::new(&notes, "read", r#"{"name":"../../etc/passwd"}"#).run(&notes).await;
    assert_eq!(outside.outcome, Outcome::ToolError, "{outside:?}");
}

#[tokio::test]
async fn a_read_only_grant_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.md"), "as it was").unwrap();
    let sandbox = sandbox();
    let notes =
        load(&sandbox, &guest::bytes("notes")).prepare(&grants(folder.path(), Access::ReadOnly)).unwrap();
    let write = Call::new(&notes, "write", r#"{"name":"a","text":"changed"}"#).run(&notes).await;
    assert_eq!(write.outcome, Outcome::ToolError, "{write:?}");
    assert_eq!(fs::read_to_string(folder.path().join("a.md")).unwrap(), "as it was");
}

#[tokio::test]
async fn the_granted_directory_stays_the_one_that_was_opened() {
    let parent = tempfile::tempdir().unwrap();
    let granted = parent.path().join("granted");
    fs::create_dir(&granted).unwrap();
    fs::write(granted.join("a.md"), "granted").unwrap();
    let sandbox = sandbox();
    let notes = load(&sandbox, &guest::bytes("notes")).prepare(&grants(&granted, Access::ReadOnly)).unwrap();
    let secret = parent.path().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("a.md"), "secret").unwrap();
    fs::rename(&granted, parent.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(&secret, &granted).unwrap();
    let read = Call::new(&notes, "read", r#"{"name":"a"}"#).run(&notes).await;
    let said = format!("{read:?}");
    assert!(said.contains("granted") && !said.contains("secret"), "{said}");
}

#[tokio::test]
async fn directories_that_show_the_host_are_refused() {
    let sandbox = sandbox();
    let notes = load(&sandbox, &guest::bytes("notes"));
    let file = tempfile::NamedTempFile::new().unwrap();
    let missing = std::path::Path::new("/no/such/directory");
    for path in ["/", "/proc", "/proc/self", "/sys", "/dev", "/dev/shm"].map(std::path::Path::new) {
        let error = notes.prepare(&grants(path, Access::ReadOnly)).unwrap_err().to_string();
        assert!(error.contains("whole host"), "{error}");
    }
    for path in [file.path(), missing] {
        let error = notes.prepare(&grants(path, Access::ReadOnly)).unwrap_err().to_string();
        assert!(error.contains("cannot be used"), "{error}");
    }
}

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use hotcell_core::results::ResultStore as _;

use super::*;

const WEEK: Duration = Duration::from_secs(7 * 24 * 3_600);

fn folder_in(temporary: &tempfile::TempDir) -> ResultFolder {
    ResultFolder::new(temporary.path().join("state/results"), ResultFolderLimits::default())
}

fn entries(path: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// H-27.
#[tokio::test]
async fn what_was_kept_is_read_byte_for_byte_and_by_its_own_store_only() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = folder_in(&temporary);
    let (one, other) = (folder.store(), folder.store());
    let text: Arc<str> = "é\0\r\n\u{1f600}".repeat(10_000).into();
    let handle = one.put(Arc::clone(&text)).await.unwrap();
    assert_eq!(one.read(handle.clone()).await.unwrap().unwrap(), text);
    assert!(is_hex(handle.as_str()), "a handle says nothing: {handle}");
    other.put("mine".into()).await.unwrap();
    assert_eq!(other.read(handle).await.unwrap(), None);
    for odd in ["../x", "/etc/passwd", ".", "0123456789ABCDEF", "00000000000000000"] {
        assert_eq!(one.read(ResultHandle::parse(odd).unwrap()).await.unwrap(), None, "{odd}");
    }
}

#[tokio::test]
async fn folders_and_files_are_private_and_nothing_is_made_before_it_is_needed() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = folder_in(&temporary);
    let store = folder.store();
    assert!(!folder.path().exists());
    store.put("secret".into()).await.unwrap();
    let run = entries(folder.path()).pop().unwrap();
    let file = entries(&run).pop().unwrap();
    let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(folder.path()), mode(&run), mode(&file)), (0o700, 0o700, 0o600));
}

#[tokio::test]
async fn a_folder_that_others_prepared_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let elsewhere = temporary.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::set_permissions(&elsewhere, std::fs::Permissions::from_mode(0o700)).unwrap();
    let link = temporary.path().join("link");
    symlink(&elsewhere, &link).unwrap();
    let open_to_all = temporary.path().join("open");
    std::fs::create_dir(&open_to_all).unwrap();
    std::fs::set_permissions(&open_to_all, std::fs::Permissions::from_mode(0o755)).unwrap();
    let file = temporary.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [&link, &open_to_all, &file] {
        let store = ResultFolder::new(path, ResultFolderLimits::default()).store();
        assert!(store.put("x".into()).await.is_err(), "{}", path.display());
    }
    assert!(entries(&elsewhere).is_empty());
}

#[tokio::test]
async fn a_result_that_was_replaced_by_a_link_is_not_read() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = folder_in(&temporary);
    let store = folder.store();
    let handle = store.put("mine".into()).await.unwrap();
    let run = entries(folder.path()).pop().unwrap();
    let other = temporary.path().join("other");
    std::fs::write(&other, "foreign").unwrap();
    std::fs::remove_file(run.join(handle.as_str())).unwrap();
    symlink(&other, run.join(handle.as_str())).unwrap();
    assert!(store.read(handle).await.is_err());
}

#[tokio::test]
async fn cleaning_removes_what_is_old_and_not_in_use_and_nothing_else() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = folder_in(&temporary);
    assert_eq!(folder.clean(Duration::ZERO, Removal::Remove).unwrap(), Cleaned::default());
    let (gone, alive) = (folder.store(), folder.store());
    gone.put("12345".into()).await.unwrap();
    gone.put("123".into()).await.unwrap();
    let handle = alive.put("12".into()).await.unwrap();
    drop(gone);
    let foreign = folder.path().join("notes.txt");
    std::fs::write(&foreign, "").unwrap();

    let counted = Cleaned { folders: 1, results: 2, bytes: 8, skipped: 1 };
    assert_eq!(folder.clean(WEEK, Removal::Remove).unwrap(), Cleaned::default());
    assert_eq!(folder.clean(Duration::ZERO, Removal::DryRun).unwrap(), counted);
    assert_eq!(folder.clean(Duration::ZERO, Removal::Remove).unwrap(), counted);
    assert_eq!(
        folder.clean(Duration::ZERO, Removal::Remove).unwrap(),
        Cleaned { skipped: 1, ..Cleaned::default() }
    );
    assert_eq!(alive.read(handle).await.unwrap().as_deref(), Some("12"));
    assert!(foreign.exists());
}

#[tokio::test]
async fn the_first_result_of_an_agent_makes_room() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("results");
    for limits in [
        ResultFolderLimits { max_bytes: 9, max_age: WEEK },
        ResultFolderLimits { max_bytes: 1 << 30, max_age: Duration::ZERO },
    ] {
        let folder = ResultFolder::new(&path, limits);
        folder.store().put("0123456789".into()).await.unwrap();
        let alive = folder.store();
        let handle = alive.put("x".into()).await.unwrap();
        assert_eq!(entries(&path).len(), 1, "only the newest is left");
        // What is in use stays, also when there is too much.
        folder.store().put("0123456789".into()).await.unwrap();
        assert!(alive.read(handle).await.unwrap().is_some());
        drop(alive);
    }
}

use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::*;

/// Makes an entry look as if it was used last at this second.
fn used_at(path: &Path, second: u64) {
    let file = fs::File::open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
}

#[test]
fn what_was_not_used_for_the_longest_time_makes_room() {
    let place = Place::new();
    let cache = place.open_small(1 << 20, 3);
    for (source, second) in [(b"a", 10), (b"b", 20), (b"c", 30)] {
        cache.put(&artifact(source)).unwrap();
        used_at(&place.entry(source), second);
    }
    assert!(found(&cache, b"a").is_some(), "a use counts");
    cache.put(&artifact(b"d")).unwrap();
    let kept: Vec<_> =
        [b"a", b"b", b"c", b"d"].into_iter().filter(|source| place.entry(*source).exists()).collect();
    assert_eq!(kept, [b"a", b"c", b"d"]);
    assert_eq!(cache.counts().evicted, 1);
    let state = cache.state();
    assert_eq!((state.entries, state.max_entries), (3, 3));
}

#[test]
fn the_bytes_of_all_entries_stay_below_the_limit() {
    let place = Place::new();
    place.open().put(&artifact(b"0")).unwrap();
    let one = place.open().state().bytes;
    let cache = place.open_small(one * 5, 1_000);
    for n in 0..40_u8 {
        cache.put(&artifact(&[n])).unwrap();
        assert!(cache.state().bytes <= one * 5, "{:?}", cache.state());
        assert!(found(&cache, &[n]).is_some(), "what was just written stays");
    }
    assert_eq!(cache.state().entries, 5);
    let tiny = place.open_small(one - 1, 1_000);
    let said = tiny.put(&artifact(b"x")).unwrap_err().to_string();
    assert!(said.contains("the cache allows"), "{said}");
    assert_eq!(tiny.counts().not_kept, 1);
}

#[test]
fn entries_of_other_engines_and_foreign_files_go_first() {
    let place = Place::new();
    let cache = place.open_small(1 << 20, 3);
    cache.put(&artifact(b"old")).unwrap();
    used_at(&place.entry(b"old"), 1);
    write_private(&place.entries().join(format!("{:0<16}-{:0<64}", "e", "f")), b"of an older engine");
    fs::write(place.entries().join("README"), b"by hand").unwrap();
    cache.put(&artifact(b"new")).unwrap();
    cache.put(&artifact(b"newer")).unwrap();
    assert_eq!(place.names().len(), 3);
    assert!(found(&cache, b"old").is_some() && found(&cache, b"new").is_some());
    assert_eq!(cache.counts().evicted, 2);
}

#[test]
fn what_killed_writers_left_is_removed_and_what_is_being_written_stays() {
    let place = Place::new();
    place.open().put(&artifact(b"a")).unwrap();
    let (dead, linked) = (place.entries().join("new-0000000000000001"), place.entries().join("new-2"));
    let (alive, dead_key) = (place.entries().join("new-3"), place.root().join("new-4"));
    [&dead, &alive, &dead_key].into_iter().for_each(|path| write_private(path, b"half"));
    symlink(place.entry(b"a"), &linked).unwrap();
    let writer = fs::File::open(&alive).unwrap();
    flock(&writer, FlockOperation::LockExclusive).unwrap();

    assert!(found(&place.open(), b"a").is_some());
    assert!(!dead.exists() && !dead_key.exists());
    assert!(fs::symlink_metadata(&linked).is_err());
    assert!(alive.exists());
    // Not even a full cache takes it away.
    place.open_small(1 << 20, 1).put(&artifact(b"b")).unwrap();
    assert!(alive.exists());
    drop(writer);
    drop(place.open());
    assert!(!alive.exists());
}

#[test]
fn a_rejected_entry_is_counted_for_every_later_process() {
    let place = Place::new();
    place.open().put(&artifact(b"a")).unwrap();
    assert_eq!(place.open().state().rejected_ever, 0);
    for times in 1..=3 {
        write_private(&place.entry(b"a"), b"by hand");
        assert!(matches!(place.open().get(&header(b"a")), Lookup::Rejected));
        let state = place.open().state();
        assert_eq!((state.rejected_ever, state.counts.rejected), (times, 0));
        assert!(state.last_rejected_unix_seconds.unwrap() > 1_600_000_000);
    }
    fs::remove_file(place.open().state().rejected_file.unwrap()).unwrap();
    assert_eq!(place.open().state().rejected_ever, 0);
}

#[test]
fn a_new_key_makes_plain_misses() {
    let place = Place::new();
    place.open().put(&artifact(b"a")).unwrap();
    fs::remove_file(place.root().join("key")).unwrap();
    let cache = place.open();
    assert!(matches!(cache.get(&header(b"a")), Lookup::Missing));
    cache.put(&artifact(b"a")).unwrap();
    assert_eq!(place.names().len(), 2, "the old one is the first to go when room is needed");
}

#[test]
fn a_folder_that_is_only_read_is_never_changed() {
    let place = Place::new();
    let options = || CacheOptions { access: CacheAccess::ReadOnly, ..CacheOptions::default() };
    let missing = ArtifactCache::open_with(&place.root(), options());
    assert!(missing.unavailable().is_some());
    assert!(!place.root().exists());

    place.open().put(&artifact(b"a")).unwrap();
    used_at(&place.entry(b"a"), 7);
    write_private(&place.entries().join("new-1"), b"half");
    let cache = ArtifactCache::open_with(&place.root(), options());
    assert!(found(&cache, b"a").is_some());
    assert!(matches!(cache.get(&header(b"b")), Lookup::Missing));
    assert!(cache.put(&artifact(b"b")).unwrap_err().to_string().contains("only read"));
    write_private(&place.entry(b"b"), b"by hand");
    assert!(matches!(cache.get(&header(b"b")), Lookup::Rejected));
    assert!(place.entry(b"b").exists() && place.entries().join("new-1").exists());
    let used = fs::metadata(place.entry(b"a")).unwrap().modified().unwrap();
    assert_eq!(used, SystemTime::UNIX_EPOCH + Duration::from_secs(7));
    assert_eq!(place.open().state().rejected_ever, 0);
}

#[test]
fn the_key_may_be_a_file_elsewhere() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let key = elsewhere.folder.path().join("my key");
    let options = |access| CacheOptions { key: Some(key.clone()), access, ..CacheOptions::default() };
    let early = ArtifactCache::open_with(&place.root(), options(CacheAccess::ReadOnly));
    assert!(early.unavailable().is_some() && !key.exists(), "who only reads makes no key");
    let cache = ArtifactCache::open_with(&place.root(), options(CacheAccess::ReadWrite));
    cache.put(&artifact(b"a")).unwrap();
    assert!(!place.root().join("key").exists());
    assert!(found(&ArtifactCache::open_with(&place.root(), options(CacheAccess::ReadOnly)), b"a").is_some());
    assert!(found(&place.open(), b"a").is_none(), "another key finds nothing");

    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let open = ArtifactCache::open_with(&place.root(), options(CacheAccess::ReadOnly));
    assert!(open.unavailable().unwrap().to_string().contains("others can use it"));
}

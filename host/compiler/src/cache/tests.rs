use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hotcell_core::artifact::{ARTIFACT_FORMAT, Code};
use hotcell_core::ids::Digest;

use super::*;

mod room;

fn header(source: &[u8]) -> ArtifactHeader {
    ArtifactHeader {
        source: Digest::of(source),
        engine: "wasmtime-48-test".into(),
        target: "x86_64-linux".into(),
        cpu: "sse3,avx2".into(),
        format: ARTIFACT_FORMAT,
    }
}

/// The artifact, when it was found.
fn found(cache: &ArtifactCache, source: &[u8]) -> Option<Artifact> {
    cache.get(&header(source)).found()
}

#[expect(unsafe_code, reason = "these artifacts are stored and compared, and never loaded")]
fn artifact(source: &[u8]) -> Artifact {
    let code = [b"code of ", source].concat();
    // SAFETY: nothing loads the artifact, so that it is no code harms nobody.
    unsafe { Artifact::from_compiler(header(source), Code::Memory(Arc::new(code))) }
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir_in("/tmp").unwrap() }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn open(&self) -> ArtifactCache {
        ArtifactCache::open(&self.root())
    }

    /// Opens it with room for so many entries, or bytes.
    fn open_small(&self, bytes: u64, entries: u64) -> ArtifactCache {
        let limits = CacheLimits { bytes, entries };
        ArtifactCache::open_with(&self.root(), CacheOptions { limits, ..CacheOptions::default() })
    }

    fn entry(&self, source: &[u8]) -> PathBuf {
        let key = fs::read(self.root().join("key")).unwrap();
        let key = mac::Key(key.try_into().unwrap());
        self.entries().join(entry::Entry::of(&header(source), &key).file_name())
    }

    fn entries(&self) -> PathBuf {
        self.root().join("entries")
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.entries()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn write_private(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[track_caller]
fn check_rejected(place: &Place, source: &[u8]) {
    let cache = place.open();
    assert!(found(&cache, source).is_none());
    assert_eq!(cache.counts(), CacheCounts { rejected: 1, ..CacheCounts::default() });
    assert!(!place.entry(source).exists(), "what is not ours is removed");
    assert!(matches!(place.open().get(&header(source)), Lookup::Missing));
    // Compiling again heals the entry.
    cache.put(&artifact(source)).unwrap();
    assert_eq!(
        found(&cache, source).unwrap().code().read().unwrap(),
        artifact(source).code().read().unwrap()
    );
}

#[test]
fn an_artifact_is_found_again_after_a_restart() {
    let place = Place::new();
    let cache = place.open();
    assert!(cache.unavailable().is_none(), "{:?}", cache.unavailable());
    assert!(found(&cache, b"a").is_none());
    cache.put(&artifact(b"a")).unwrap();
    let again = place.open();
    let artifact_found = found(&again, b"a").unwrap();
    assert_eq!(
        (artifact_found.header(), artifact_found.code().read().unwrap()),
        (&header(b"a"), artifact(b"a").code().read().unwrap())
    );
    assert_eq!(cache.counts(), CacheCounts { misses: 1, ..CacheCounts::default() });
    assert_eq!(again.counts(), CacheCounts { hits: 1, ..CacheCounts::default() });
}

#[test]
fn each_part_of_the_header_is_part_of_the_key() {
    let place = Place::new();
    let cache = place.open();
    cache.put(&artifact(b"a")).unwrap();
    let base = header(b"a");
    for other in [
        header(b"b"),
        ArtifactHeader { engine: "wasmtime-49-test".into(), ..base.clone() },
        ArtifactHeader { target: "aarch64-linux".into(), ..base.clone() },
        ArtifactHeader { format: ARTIFACT_FORMAT + 1, ..base.clone() },
        ArtifactHeader { cpu: "sse3".into(), ..base.clone() },
        // The same bytes, cut at another place.
        ArtifactHeader { engine: "wasmtime-48-testx".into(), target: "86_64-linux".into(), ..base },
    ] {
        assert!(matches!(cache.get(&other), Lookup::Missing), "{other:?}");
    }
    assert_eq!(cache.counts(), CacheCounts { misses: 6, ..CacheCounts::default() });
}

#[test]
fn a_flipped_bit_anywhere_is_a_miss() {
    let place = Place::new();
    place.open().put(&artifact(b"a")).unwrap();
    let path = place.entry(b"a");
    let good = fs::read(&path).unwrap();
    let cache = place.open();
    for index in 0..good.len() {
        let mut bad = good.clone();
        bad[index] ^= 1;
        write_private(&path, &bad);
        assert!(found(&cache, b"a").is_none(), "byte {index}");
    }
    assert_eq!(cache.counts().rejected, good.len() as u64);
    write_private(&path, &good);
    assert!(found(&cache, b"a").is_some());
}

#[test]
fn cut_and_lengthened_entries_are_misses() {
    let place = Place::new();
    place.open().put(&artifact(b"a")).unwrap();
    let path = place.entry(b"a");
    let good = fs::read(&path).unwrap();
    let cache = place.open();
    for length in 0..good.len() {
        write_private(&path, &good[..length]);
        assert!(found(&cache, b"a").is_none(), "{length}");
    }
    write_private(&path, &[good.as_slice(), b"x"].concat());
    check_rejected(&place, b"a");
}

#[test]
fn an_entry_moved_to_another_components_place_is_a_miss() {
    let place = Place::new();
    place.open().put(&artifact(b"a")).unwrap();
    fs::rename(place.entry(b"a"), place.entry(b"b")).unwrap();
    check_rejected(&place, b"b");
}

#[test]
fn an_entry_made_with_another_key_is_a_miss() {
    let (place, foreign) = (Place::new(), Place::new());
    place.open().put(&artifact(b"a")).unwrap();
    foreign.open().put(&artifact(b"a")).unwrap();
    assert_ne!(fs::read(place.root().join("key")).unwrap(), fs::read(foreign.root().join("key")).unwrap());
    fs::copy(foreign.entry(b"a"), place.entry(b"a")).unwrap();
    assert_ne!(foreign.entry(b"a").file_name(), place.entry(b"a").file_name());
    check_rejected(&place, b"a");
}

#[test]
fn a_hand_made_native_program_is_a_miss() {
    let place = Place::new();
    assert!(place.open().unavailable().is_none());
    write_private(&place.entry(b"a"), &[b"\x7fELF".as_slice(), &[0; 4_000]].concat());
    check_rejected(&place, b"a");
}

#[test]
fn links_pipes_and_open_files_in_place_of_an_entry_are_misses() {
    let (place, elsewhere) = (Place::new(), Place::new());
    place.open().put(&artifact(b"a")).unwrap();
    let (path, target) = (place.entry(b"a"), elsewhere.folder.path().join("target"));
    fs::rename(&path, &target).unwrap();
    symlink(&target, &path).unwrap();
    check_rejected(&place, b"a");
    assert!(target.exists(), "what the link points to is untouched");

    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    check_rejected(&place, b"a");

    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    check_rejected(&place, b"a");
}

#[test]
fn files_and_folders_are_private() {
    let place = Place::new();
    place.open().put(&artifact(b"a")).unwrap();
    let mode = |path: PathBuf| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(place.root()), 0o700);
    assert_eq!(mode(place.root().join("entries")), 0o700);
    assert_eq!(mode(place.root().join("key")), 0o600);
    assert_eq!(mode(place.entry(b"a")), 0o600);
    let left: Vec<_> = fs::read_dir(place.root().join("entries")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left");
}

#[test]
fn a_folder_that_is_not_ours_alone_is_not_used_and_says_why() {
    let check = |prepare: &dyn Fn(&Place), reason: &str| {
        let place = Place::new();
        prepare(&place);
        let cache = place.open();
        let said = cache.unavailable().unwrap().to_string();
        assert!(said.contains(reason), "{said}");
        assert!(found(&cache, b"a").is_none());
        assert_eq!(cache.put(&artifact(b"a")).unwrap_err().to_string(), said);
    };
    check(
        &|place| {
            fs::create_dir(place.root()).unwrap();
            fs::set_permissions(place.root(), Permissions::from_mode(0o777)).unwrap();
        },
        "others can use it",
    );
    check(
        &|place| {
            let target = place.folder.path().join("target");
            fs::create_dir(&target).unwrap();
            symlink(target, place.root()).unwrap();
        },
        "cannot be used",
    );
    check(&|place| fs::write(place.root(), b"a file").unwrap(), "cannot be used");
    check(
        &|place| {
            drop(place.open());
            fs::remove_dir(place.root().join("entries")).unwrap();
            symlink("/tmp", place.root().join("entries")).unwrap();
        },
        "cannot be used",
    );
    check(
        &|place| {
            drop(place.open());
            fs::write(place.root().join("key"), b"short").unwrap();
        },
        "remove it to get a new one",
    );
    check(
        &|place| {
            drop(place.open());
            fs::set_permissions(place.root().join("key"), Permissions::from_mode(0o644)).unwrap();
        },
        "others can use it",
    );
}

#[test]
fn processes_that_start_at_once_agree_on_one_key() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for n in 0..8_u8 {
            let place = &place;
            scope.spawn(move || place.open().put(&artifact(&[n])).unwrap());
        }
    });
    let cache = place.open();
    for n in 0..8_u8 {
        assert!(found(&cache, &[n]).is_some(), "{n}");
    }
}

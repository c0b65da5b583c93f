//! Attacks on the cache of compiled components, against the real binary: never executed, never a panic, always a right
//! answer afterwards.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use hotcell_compiler::ArtifactCache;
use hotcell_tests::command::{Said, run};
use hotcell_tests::guest;

/// A cache, a folder for temporary files, and something that must stay as it is.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        fs::create_dir(folder.path().join("scratch")).unwrap();
        fs::create_dir(folder.path().join("sentinel")).unwrap();
        fs::write(folder.path().join("sentinel/file"), b"untouched").unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    pub(crate) fn hotcell(&self, args: &[&str]) -> Said {
        let (cache, scratch) = (self.cache(), self.path("scratch"));
        let environment =
            [("HOTCELL_CACHE_DIR", cache.to_str().unwrap()), ("TMPDIR", scratch.to_str().unwrap())];
        run(&guest::binary(), args, &environment)
    }

    /// Calls a tool whose answer is known, and checks the answer; gives what was said on standard error.
    #[track_caller]
    fn call(&self, tool: &Path) -> String {
        let said =
            self.hotcell(&["tool", "call", tool.to_str().unwrap(), "count", "--args", "text=one two three"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.out.contains("\"words\": 3") || said.out.contains("\"words\":3"), "{said:?}");
        assert!(!said.err.contains("panicked"), "{said:?}");
        self.check_clean();
        said.err
    }

    /// Nothing is left of anything, and the sentinel is what it was.
    #[track_caller]
    pub(crate) fn check_clean(&self) {
        assert_eq!(names(&self.path("scratch")), [] as [String; 0], "a temporary file is left");
        let entries = names(&self.cache().join("entries"));
        assert!(entries.iter().all(|name| !name.starts_with("new-")), "{entries:?}");
        assert_eq!(names(&self.path("sentinel")), ["file"]);
        assert_eq!(fs::read(self.path("sentinel/file")).unwrap(), b"untouched");
        let scratch = self.path("scratch").into_os_string().into_string().unwrap();
        assert_eq!(processes_with(&scratch), [] as [String; 0], "a process is left");
    }

    /// The entry of the only component.
    fn entry(&self) -> PathBuf {
        let mut entries = names(&self.cache().join("entries"));
        assert_eq!(entries.len(), 1, "{entries:?}");
        self.cache().join("entries").join(entries.remove(0))
    }

    fn rejected_ever(&self) -> u64 {
        ArtifactCache::open(&self.cache()).state().rejected_ever
    }
}

/// The sorted names in a folder; none when there is no such folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Processes that name a path in their command line, or whose standard input is a file there; a compile process has
/// its component in a file without a name.
fn processes_with(path: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| {
        let line = fs::read(process.path().join("cmdline")).ok()?;
        let input = fs::read_link(process.path().join("fd/0")).unwrap_or_default();
        Some(format!("{} {}", String::from_utf8_lossy(&line), input.display()))
    });
    lines.filter(|line| line.contains(path)).collect()
}

/// Whether a process has started another.
pub(crate) fn has_child(parent: u32) -> bool {
    let parent = format!("PPid:\t{parent}");
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut states = processes.filter_map(|process| fs::read_to_string(process.path().join("status")).ok());
    states.any(|state| state.lines().any(|line| line == parent))
}

fn write_private(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

const WARNING: &str = "was not what hotcell wrote";

#[test]
fn an_entry_that_was_changed_in_any_way_is_compiled_again_and_said_once() {
    let place = Place::new();
    let tool = guest::path("text-stats");
    assert!(!place.call(&tool).contains("warning"), "the first call fills the cache");
    let path = place.entry();
    let good = fs::read(&path).unwrap();
    let flip = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    // The other tool's artifact is a good one, for other bytes.
    let other = Place::new();
    assert_eq!(other.hotcell(&["tool", "compile", guest::path("notes").to_str().unwrap()]).code, Some(0));
    let foreign = fs::read(other.entry()).unwrap();
    let mut changed: Vec<Vec<u8>> =
        [0, 8, 40, 60, 240, good.len() / 2, good.len() - 33, good.len() - 1].into_iter().map(flip).collect();
    changed.extend([
        Vec::new(),
        good[..100].to_vec(),
        good[..good.len() - 1].to_vec(),
        [good.as_slice(), b"x"].concat(),
        foreign,
        fs::read("/bin/sh").unwrap(),
    ]);
    let mut alarms = 0;
    for bytes in changed {
        write_private(&path, &bytes);
        let said = place.call(&tool);
        assert_eq!(said.matches(WARNING).count(), 1, "{} bytes: {said}", bytes.len());
        assert!(!place.call(&tool).contains("warning"), "the entry is good again");
        assert_eq!(fs::read(&path).unwrap(), good, "the same bytes are compiled to the same artifact");
        alarms += 1;
        assert_eq!(place.rejected_ever(), alarms);
    }
}

#[test]
fn what_stands_in_the_place_of_an_entry_and_is_no_file_of_ours_is_removed() {
    let place = Place::new();
    let tool = guest::path("text-stats");
    place.call(&tool);
    let path = place.entry();
    let sentinel = place.path("sentinel/file");
    let attacks: [(&str, &dyn Fn()); 6] = [
        ("a link to a file elsewhere", &|| {
            fs::remove_file(&path).unwrap();
            symlink(&sentinel, &path).unwrap();
        }),
        ("a link to nothing", &|| {
            fs::remove_file(&path).unwrap();
            symlink("/nowhere", &path).unwrap();
        }),
        ("a pipe", &|| {
            fs::remove_file(&path).unwrap();
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        }),
        ("a folder", &|| {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }),
        ("a file others can write", &|| {
            fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        }),
        ("a file of another user", &|| {
            if chown(&path, Some(12_345), None).is_err() {
                // Only root can give a file away; a file others can read is refused by the same check.
                fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
            }
        }),
    ];
    for (what, attack) in attacks {
        attack();
        let said = place.call(&tool);
        assert_eq!(said.matches(WARNING).count(), 1, "{what}: {said}");
        let entry = fs::symlink_metadata(&path).unwrap();
        assert!(entry.is_file() && entry.mode() & 0o777 == 0o600, "{what}: {entry:?}");
        assert!(!place.call(&tool).contains("warning"), "{what}");
    }
}

/// What somebody does to a place.
type Attack<'a> = &'a dyn Fn(&Place);

#[test]
fn a_folder_somebody_else_may_control_is_not_used_and_its_reason_is_said() {
    let tool = guest::path("text-stats");
    let attacks: [(&str, Attack<'_>); 6] = [
        ("others can use it", &|place| {
            fs::create_dir(place.cache()).unwrap();
            fs::set_permissions(place.cache(), Permissions::from_mode(0o777)).unwrap();
        }),
        ("cannot be used", &|place| symlink(place.path("sentinel"), place.cache()).unwrap()),
        ("cannot be used", &|place| {
            place.call(&guest::path("text-stats"));
            fs::remove_dir_all(place.cache().join("entries")).unwrap();
            symlink(place.path("sentinel"), place.cache().join("entries")).unwrap();
        }),
        ("others can use it", &|place| {
            place.call(&guest::path("text-stats"));
            fs::set_permissions(place.cache().join("entries"), Permissions::from_mode(0o770)).unwrap();
        }),
        ("cannot be used", &|place| fs::write(place.cache(), b"a file").unwrap()),
        ("12345", &|place| {
            fs::create_dir(place.cache()).unwrap();
            fs::set_permissions(place.cache(), Permissions::from_mode(0o700)).unwrap();
            if chown(place.cache(), Some(12_345), None).is_err() {
                // Only root can give a folder away; then at least its mode is wrong, and the words are the test's own.
                fs::remove_dir(place.cache()).unwrap();
                symlink("12345", place.cache()).unwrap();
            }
        }),
    ];
    for (reason, attack) in attacks {
        let place = Place::new();
        attack(&place);
        let before = names(&place.cache());
        for _ in 0..2 {
            let said = place.call(&tool);
            assert!(said.contains("compiled components are not kept"), "{reason}: {said}");
            assert!(said.contains(reason), "{reason}: {said}");
        }
        assert_eq!(names(&place.cache()), before, "{reason}");
    }
}

#[test]
fn names_in_the_cache_come_of_digests_whatever_the_file_is_called() {
    let place = Place::new();
    let odd = ["..", "a b", "a\nb", "\u{202e}x", "-rf", "%00"];
    let longest = "x".repeat(200);
    for name in odd.into_iter().chain([longest.as_str()]) {
        let path = place.path(&format!("{name}.wasm"));
        fs::copy(guest::path("text-stats"), &path).unwrap();
        place.call(&path);
    }
    let name = place.entry().file_name().unwrap().to_str().unwrap().to_owned();
    let (generation, entry) = name.split_once('-').unwrap();
    assert_eq!((generation.len(), entry.len()), (16, 64));
    assert!(name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-')), "{name}");
    assert_eq!(names(&place.cache()), ["entries", "key"]);
}

#[test]
fn several_processes_that_start_on_an_empty_cache_all_get_their_answer() {
    let place = Place::new();
    let tool = guest::path("text-stats");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let said =
                    place.hotcell(&["tool", "call", tool.to_str().unwrap(), "count", "--args", "text=a"]);
                assert_eq!(said.code, Some(0), "{said:?}");
                assert!(!said.err.contains("warning"), "{said:?}");
            });
        }
    });
    place.check_clean();
    place.entry();
    assert_eq!(place.rejected_ever(), 0);
}

#[test]
fn the_cache_is_where_the_most_specific_absolute_path_says() {
    let tool = guest::path("text-stats");
    let check = |variables: &[(&str, &str)], expected: Option<&str>| {
        let place = Place::new();
        let value =
            |value: &str| value.replace("PLACE", place.path("").to_str().unwrap().trim_end_matches('/'));
        let mut command = Command::new(guest::binary());
        command.args(["tool", "call", tool.to_str().unwrap(), "count", "--args", "text=a"]);
        command.env_clear().env("TMPDIR", place.path("scratch")).current_dir(place.path("sentinel"));
        command.envs(variables.iter().map(|(name, text)| (name, value(text))));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{variables:?}: {said}");
        match expected {
            Some(folder) => {
                assert_eq!(names(&place.path(folder).join("entries")).len(), 1, "{variables:?}: {said}");
            }
            None => assert!(said.contains("set HOTCELL_CACHE_DIR"), "{variables:?}: {said}"),
        }
        place.check_clean();
    };
    let (xdg, home) = (("XDG_CACHE_HOME", "PLACE/x"), ("HOME", "PLACE/h"));
    check(&[("HOTCELL_CACHE_DIR", "PLACE/new/deep"), xdg, home], Some("new/deep"));
    check(&[("HOTCELL_CACHE_DIR", "relative"), xdg, home], Some("x/hotcell"));
    check(&[("HOTCELL_CACHE_DIR", ""), home], Some("h/.cache/hotcell"));
    check(&[("XDG_CACHE_HOME", "./x"), ("HOME", "h")], None);
    check(&[], None);
}

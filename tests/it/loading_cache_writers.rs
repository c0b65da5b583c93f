//! Writers of the cache that are killed, that race, and that find no room.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use hotcell_compiler::{ArtifactCache, CacheOptions, Lookup};
use hotcell_tests::call::compile;
use hotcell_tests::generated::small;
use hotcell_tests::guest;

use crate::loading_cache::{Place, names};

/// More steps than a write has.
const MANY_STEPS: usize = 100;

fn writer(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cache-writer"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn killed_at(folder: &Path, step: usize) -> ExitStatus {
    writer(&["kill", folder.to_str().unwrap(), &step.to_string()]).status().unwrap()
}

/// Kills a writer at each of its steps; what a later process finds is nothing or the whole artifact.
fn check_kills(prepare: impl Fn(&Path), least_steps: usize) {
    let artifact = compile(&small(0).unwrap());
    let expected = artifact.code().read().unwrap();
    for step in 0.. {
        assert!(step < MANY_STEPS, "a write has fewer steps");
        let place = Place::new();
        let folder = place.cache();
        prepare(&folder);
        let ended = killed_at(&folder, step);
        if ended.success() {
            assert!(step >= least_steps, "only {step} steps");
            return;
        }
        assert_eq!(ended.signal(), Some(9), "step {step}");
        let cache = ArtifactCache::open_with(&folder, CacheOptions::default());
        assert!(cache.unavailable().is_none(), "step {step}: {:?}", cache.unavailable());
        assert!(names(&folder).iter().all(|name| matches!(name.as_str(), "key" | "entries")), "step {step}");
        place.check_clean();
        let lookup = cache.get(artifact.header());
        assert!(
            !matches!(lookup, Lookup::Rejected),
            "step {step}: half of an artifact has the name of a whole one"
        );
        match lookup.found() {
            Some(found) => assert_eq!(found.code().read().unwrap(), expected, "step {step}"),
            None => cache.put(&artifact).unwrap(),
        }
        let again = ArtifactCache::open(&folder);
        assert_eq!(again.get(artifact.header()).found().unwrap().code().read().unwrap(), expected);
        assert_eq!((names(&folder.join("entries")).len(), again.state().rejected_ever), (1, 0));
    }
}

#[test]
fn a_writer_killed_at_any_step_of_a_new_cache_leaves_nothing_and_harms_nothing() {
    check_kills(|_folder| (), 14);
}

#[test]
fn a_writer_killed_at_any_step_of_a_cache_in_use_leaves_nothing_and_harms_nothing() {
    let artifact = compile(&small(0).unwrap());
    check_kills(|folder| ArtifactCache::open(folder).put(&artifact).unwrap(), 8);
}

#[test]
fn writers_in_several_processes_never_show_each_other_half_an_entry() {
    let place = Place::new();
    let folder = place.cache();
    let start = || writer(&["many", folder.to_str().unwrap(), "300"]).stderr(Stdio::piped()).spawn().unwrap();
    let writers: Vec<_> = (0..5).map(|_| start()).collect();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    place.check_clean();
    let state = ArtifactCache::open(&folder).state();
    assert!(state.entries <= 3 && state.rejected_ever == 0, "{state:?}");
}

#[test]
fn a_process_that_may_only_write_small_files_keeps_nothing_and_lives() {
    let place = Place::new();
    let status = writer(&["limited", place.cache().to_str().unwrap()]).status().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(names(&place.cache().join("entries")), [] as [String; 0]);
}

/// A file system of a few blocks, when this machine lets us make one; unmounted at the end.
struct SmallDisk<'a> {
    at: &'a Path,
}

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path, options: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Self { at })
    }

    fn make_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(self.at).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(self.at).status();
        assert!(std::thread::panicking() || status.unwrap().success());
    }
}

#[test]
fn a_full_and_a_read_only_disk_are_no_cache_and_one_warning() {
    let place = Place::new();
    let folder = place.cache();
    let Some(disk) = SmallDisk::mount(&folder, "size=256k,mode=700") else {
        println!("skipped: no file system can be mounted here");
        return;
    };
    let tool = guest::path("text-stats");
    let call = || place.hotcell(&["tool", "call", tool.to_str().unwrap(), "count", "--args", "text=a"]);
    let said = call();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.err.matches("compiled components are not kept").count(), 1, "{said:?}");
    assert!(said.err.contains("No space left"), "{said:?}");
    place.check_clean();
    assert_eq!(names(&place.cache().join("entries")), [] as [String; 0]);

    disk.make_read_only();
    let said = call();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("Read-only file system"), "{said:?}");
    drop(disk);
}

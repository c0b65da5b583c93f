//! A place of its own for commands that load hostile files, and one function that checks that nothing of them stays.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use hotcell_core::ids::Digest;
use tempfile::TempDir;

use crate::command::{Said, run};
use crate::guest::binary;

/// Processes that end are gone a moment later; this is how long a moment may be.
const MOMENT: std::time::Duration = std::time::Duration::from_secs(5);

/// A cache, a folder for temporary files and a folder for components that no other test uses.
#[derive(Debug)]
pub struct Place {
    folder: TempDir,
    before: Files,
}

/// What is in a folder: the digest of each file, by path.
type Files = BTreeMap<PathBuf, String>;

impl Place {
    /// An empty place; the cache is made, because its key belongs to it and not to a component.
    ///
    /// # Panics
    /// When the system does not give it.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        for name in ["temporary", "components"] {
            fs::create_dir(folder.path().join(name)).expect("a new folder");
        }
        let mut place = Self { folder, before: Files::new() };
        let said = place.hotcell(&["doctor"]);
        assert!(place.cache().join("key").exists(), "doctor opens the cache: {said:?}");
        place.before = files(&place.cache());
        place
    }

    /// Where compiled components are kept.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Where commands put temporary files.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.folder.path().join("temporary")
    }

    /// Writes a component under this name.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn component(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("components").join(name);
        fs::write(&path, bytes).expect("a component can be written");
        path
    }

    /// Variables that make a command use this place.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 2] {
        let text =
            |path: PathBuf| path.into_os_string().into_string().expect("temporary folders have plain names");
        [("HOTCELL_CACHE_DIR", text(self.cache())), ("TMPDIR", text(self.temporary()))]
    }

    /// Runs `hotcell` in this place.
    #[must_use]
    pub fn hotcell(&self, args: &[&str]) -> Said {
        let environment = self.environment();
        let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
        run(&binary(), args, &environment)
    }

    /// Takes the cache as it is for the one that has to stay; after a load that should be kept.
    pub fn accept_cache(&mut self) {
        self.before = files(&self.cache());
    }

    /// Checks that a refused component left nothing: the cache is as it was, no temporary file is left, no process
    /// of this place runs, and nobody panicked.
    ///
    /// # Panics
    /// When something is left; `what` and what the command said are in the message.
    pub fn check_untouched(&self, what: &str, said: &Said) {
        assert!(!said.err.contains("panicked"), "{what}: something panicked: {said:?}");
        assert!(!said.out.contains("panicked"), "{what}: something panicked: {said:?}");
        assert_eq!(files(&self.cache()), self.before, "{what}: the cache changed: {said:?}");
        let left = files(&self.temporary());
        assert!(left.is_empty(), "{what}: temporary files are left: {left:?}");
        let folders = fs::read_dir(self.temporary()).expect("a folder of ours").count();
        assert_eq!(folders, 0, "{what}: temporary folders are left");
        let begin = std::time::Instant::now();
        while let Some(process) = processes_of(self.folder.path()) {
            assert!(begin.elapsed() < MOMENT, "{what}: a process is left: {process}");
            std::thread::yield_now();
        }
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

/// The files in a folder and in the folders inside; a folder that does not exist has none.
fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a folder of ours can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let digest = Digest::of(&fs::read(&path).expect("a file of ours can be read")).to_string();
                found.insert(path, digest);
            }
        }
    }
    found
}

/// The command line of a process that was told of this folder, by an argument or a variable.
fn processes_of(folder: &Path) -> Option<String> {
    let folder = folder.as_os_str().as_bytes();
    let told = |text: &[u8]| text.windows(folder.len()).any(|window| window == folder);
    fs::read_dir("/proc").expect("this system lists its processes").flatten().find_map(|entry| {
        let name = entry.file_name();
        if !name.as_bytes().iter().all(u8::is_ascii_digit)
            || name == OsStr::new(&std::process::id().to_string())
        {
            return None;
        }
        // A process may end while it is looked at, and others' variables cannot be read.
        let read = |part: &str| fs::read(entry.path().join(part)).unwrap_or_default();
        let line = read("cmdline");
        (told(&line) || told(&read("environ"))).then(|| String::from_utf8_lossy(&line).replace('\0', " "))
    })
}

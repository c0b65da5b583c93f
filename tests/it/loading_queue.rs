//! Who compiles when, with real compile processes: few at once, each component once, and none that nobody waits for.
#![expect(clippy::disallowed_methods, reason = "each test gives up single loads and waits for each")]

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hotcell::{
    Cache, Compile, ComponentError, LoadEvent, LoadObserver, LoadProgress, QueueGauges, QueueLimits, Sandbox,
    SandboxConfig,
};
use hotcell_tests::generated::small;
use hotcell_tests::guest;

/// A folder where compile processes leave what they did.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir_in("/tmp").unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A sandbox whose compile processes run this script, where `$LOG` is a file and `compile` is the real worker.
    fn sandbox(&self, script: &str, workers: usize, waiting: usize) -> Sandbox {
        self.observed(script, workers, waiting, None)
    }

    fn observed(
        &self,
        script: &str,
        workers: usize,
        waiting: usize,
        load_observer: Option<Arc<dyn LoadObserver>>,
    ) -> Sandbox {
        let binary = guest::binary().canonicalize().unwrap();
        let script = format!(
            "LOG={log}; order=\"$*\"; compile() {{ {binary} \"$@\"; }}; cd {place}; {script}",
            log = self.path("log").display(),
            binary = binary.display(),
            place = self.folder.path().display(),
        );
        let compile = Compile::worker_at("/bin/sh", vec!["-c".into(), script.into(), "sh".into()]);
        let workers = NonZeroUsize::new(workers).unwrap();
        Sandbox::new(SandboxConfig {
            cache: Cache::At(self.path("cache")),
            compile_queue: QueueLimits { workers, waiting },
            slots: 4,
            load_observer,
            ..SandboxConfig::new(compile)
        })
        .unwrap()
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Nothing is left in the cache but entries, and no process that wrote its number into the log.
    fn check_clean(&self) {
        for pid in self.log().iter().filter_map(|line| line.strip_prefix("pid ")) {
            assert!(!is_running(pid), "process {pid} is left");
        }
        let entries = fs::read_dir(self.path("cache/entries")).unwrap();
        for entry in entries {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with("new-"), "{name} is left");
        }
    }
}

/// Writes down that it ran, and that another ran beside it.
const EXCLUSIVE: &str = "echo run >> $LOG; mkdir alone || echo together >> $LOG; compile \"$@\"; rmdir alone";

/// Whether a process exists and is not one that only waits to be reaped.
fn is_running(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z') && !line.contains('X'))
}

/// Waits for a state, for at most a minute.
async fn eventually(what: &str, state: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !state() {
        assert!(Instant::now() < deadline, "waited a minute for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn bytes(number: u32) -> Arc<[u8]> {
    small(number).unwrap().into()
}

#[tokio::test]
async fn the_same_bytes_loaded_by_two_at_once_are_compiled_once_and_belong_to_each() {
    let place = Place::new();
    let sandbox = place.sandbox(EXCLUSIVE, 2, 8);
    let loads = (0..8).map(|n| sandbox.load_bytes(format!("tenant-{n}"), bytes(1)));
    let loaded = futures::future::try_join_all(loads).await.unwrap();
    assert_eq!(place.log(), ["run"]);
    for (n, component) in loaded.iter().enumerate() {
        assert_eq!(component.name(), format!("tenant-{n}"));
        assert!(component.warnings().is_empty() && component.grants().files.is_empty());
    }
    assert_eq!(sandbox.cache_state().entries, 1);
    place.check_clean();
}

#[tokio::test]
async fn of_fifty_different_components_one_compiles_some_wait_and_the_rest_are_overloaded() {
    let place = Place::new();
    let script = format!("while ! [ -e go ]; do sleep 0.01; done; {EXCLUSIVE}");
    let sandbox = place.sandbox(&script, 1, 20);
    let mut loads = tokio::task::JoinSet::new();
    for number in 0..50 {
        let sandbox = sandbox.clone();
        loads.spawn(async move { sandbox.load_bytes(format!("c{number}"), bytes(number)).await });
    }
    let mut overloaded = 0;
    // Those that find no place end first: nothing compiles before it may.
    while overloaded < 29 {
        let error = loads.join_next().await.unwrap().unwrap().unwrap_err();
        assert_eq!(error.code(), "overloaded", "{error:?}");
        assert!(error.advice().unwrap().contains("try again"), "{error:?}");
        overloaded += 1;
    }
    eventually("a full line", || sandbox.compile_gauges() == QueueGauges { running: 1, waiting: 20 }).await;
    fs::write(place.path("go"), b"").unwrap();
    let loaded = loads.join_all().await;
    assert_eq!(loaded.iter().filter(|loaded| loaded.is_ok()).count(), 21);
    assert_eq!(place.log(), vec!["run"; 21], "one at a time");
    assert_eq!(sandbox.compile_gauges(), QueueGauges::default());
    place.check_clean();
}

/// Says its number and stays.
const HANGS: &str = "echo pid $$ >> $LOG; echo folder \"$order\" >> $LOG; exec sleep 1000";

#[tokio::test]
async fn a_compile_nobody_waits_for_any_more_is_killed_and_the_next_begins() {
    let place = Place::new();
    let sandbox = place.sandbox(HANGS, 1, 8);
    let load = |number| {
        let sandbox = sandbox.clone();
        tokio::spawn(async move { sandbox.load_bytes("x", bytes(number)).await.map(|_| ()) })
    };
    let (first, again) = (load(1), load(1));
    eventually("the first to compile", || place.log().len() == 2).await;
    let waits = load(2);
    eventually("the second to wait", || sandbox.compile_gauges().waiting == 1).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(place.log().len(), 2);
    assert!(is_running(place.log()[0].strip_prefix("pid ").unwrap()), "somebody still waits for it");
    again.abort();
    eventually("the next to compile", || place.log().len() == 4).await;
    waits.abort();
    eventually("the end", || sandbox.compile_gauges() == QueueGauges::default()).await;
    place.check_clean();
}

#[tokio::test]
async fn a_sandbox_that_is_dropped_leaves_no_compile_behind() {
    let place = Place::new();
    let sandbox = place.sandbox(HANGS, 1, 8);
    let of_task = sandbox.clone();
    let load = tokio::spawn(async move { of_task.load_bytes("x", bytes(1)).await.map(|_| ()) });
    eventually("a compile", || place.log().len() == 2).await;
    load.abort();
    assert!(load.await.unwrap_err().is_cancelled());
    drop(sandbox);
    // The drop itself waited: nothing has to be waited for here.
    place.check_clean();
}

#[tokio::test]
async fn a_failure_is_told_to_all_who_waited_and_not_kept() {
    let place = Place::new();
    let script = format!(
        "echo try >> $LOG; if [ -e good ]; then compile \"$@\"; else while ! [ -e go ]; do sleep 0.01; done; exit 3; fi; #{EXCLUSIVE}"
    );
    let sandbox = place.sandbox(&script, 1, 8);
    let loads = futures::future::join_all((0..3).map(|_| sandbox.load_bytes("x", bytes(1))));
    let release = async {
        eventually("a compile", || !place.log().is_empty()).await;
        fs::write(place.path("go"), b"").unwrap();
    };
    let (results, ()) = futures::future::join(loads, release).await;
    for result in results {
        assert_eq!(result.unwrap_err().code(), "internal");
    }
    fs::write(place.path("good"), b"").unwrap();
    sandbox.load_bytes("x", bytes(1)).await.unwrap();
    // Loads that came after the first had failed tried for themselves.
    assert!((2..=4).contains(&place.log().len()), "{:?}", place.log());
}

/// Keeps what it was told.
#[derive(Default)]
struct Told(Mutex<Vec<(String, LoadProgress)>>);

impl LoadObserver for Told {
    fn progress(&self, event: &LoadEvent<'_>) {
        self.0.lock().unwrap().push((event.name.to_owned(), event.progress));
    }
}

#[tokio::test]
async fn an_observer_is_told_of_places_compiles_and_ends() {
    let place = Place::new();
    let told = Arc::new(Told::default());
    let script = "while ! [ -e go ]; do sleep 0.01; done; compile \"$@\"";
    let sandbox = place.observed(script, 1, 8, Some(Arc::clone(&told) as _));
    let said = |name: &str, wanted: &dyn Fn(LoadProgress) -> bool| {
        told.0.lock().unwrap().iter().any(|(of, progress)| of == name && wanted(*progress))
    };
    let load = |name: &'static str, number| {
        let sandbox = sandbox.clone();
        tokio::spawn(async move { sandbox.load_bytes(name, bytes(number)).await.map(|_| ()) })
    };
    let first = load("first", 1);
    eventually("a compile", || said("first", &|progress| matches!(progress, LoadProgress::Compiling { .. })))
        .await;
    let second = load("second", 2);
    let in_line = LoadProgress::Queued { place: 1, of: 1 };
    eventually("a place", || said("second", &|progress| progress == in_line)).await;
    let third = load("third", 3);
    let in_line = LoadProgress::Queued { place: 2, of: 2 };
    eventually("a place", || said("third", &|progress| progress == in_line)).await;
    third.abort();
    eventually("an end", || said("third", &|progress| progress == LoadProgress::Stopped)).await;
    eventually("time to pass", || {
        said("first", &|progress| matches!(progress, LoadProgress::Compiling { since } if !since.is_zero()))
    })
    .await;
    fs::write(place.path("go"), b"").unwrap();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    load("first again", 1).await.unwrap().unwrap();
    let done = |wanted| move |progress| matches!(progress, LoadProgress::Done { from_cache, .. } if from_cache == wanted);
    assert!(said("first", &done(false)) && said("second", &done(false)) && said("first again", &done(true)));
}

#[tokio::test]
async fn a_file_that_changes_while_it_waits_is_refused() {
    let place = Place::new();
    let script = "while ! [ -e go ]; do sleep 0.01; done; compile \"$@\"";
    let sandbox = place.sandbox(script, 1, 8);
    let path = place.path("tool.wasm");
    fs::write(&path, small(1).unwrap()).unwrap();
    let first = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.load_bytes("first", bytes(9)).await.map(|_| ()) }
    });
    eventually("a compile", || sandbox.compile_gauges().running == 1).await;
    let second = tokio::spawn({
        let (sandbox, path) = (sandbox.clone(), path.clone());
        async move { sandbox.load(&path).await.map(|_| ()) }
    });
    eventually("a place", || sandbox.compile_gauges().waiting == 1).await;
    fs::write(&path, small(2).unwrap()).unwrap();
    fs::write(place.path("go"), b"").unwrap();
    first.await.unwrap().unwrap();
    let error = second.await.unwrap().unwrap_err();
    assert!(matches!(error, ComponentError::Compile { .. }), "{error:?}");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("changed while it waited"));
}

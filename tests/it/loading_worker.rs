//! The compile process as users meet it: walled in while it works, and whatever becomes of it, an error and nothing else.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hotcell::{Cache, Compile, CompileLimits, Sandbox, SandboxConfig};
use hotcell_tests::{generated, guest};
use serde_json::Value;

use crate::loading_cache::{Place, names};

/// How long anything here may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a command that compiles a hostile component and then a good one.
fn compile_hostile(place: &Place) -> Child {
    let hostile = place.path("hostile.wasm");
    fs::write(&hostile, generated::hostile(1).unwrap()).unwrap();
    let mut command = Command::new(guest::binary());
    command.args(["tool", "compile", "--json"]).arg(&hostile).arg(guest::path("text-stats"));
    command.env("HOTCELL_CACHE_DIR", place.cache()).env("TMPDIR", place.path("scratch"));
    command.env_remove("HOTCELL_POLICY");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a value, for at most [`PATIENCE`].
#[track_caller]
fn wait_for<T>(what: &str, value: impl Fn() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A line of what the kernel says of a process; none when there is no such process or line.
fn status(pid: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// The process that this one started.
fn child_of(parent: u32) -> Option<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut numbers = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    numbers.find(|pid| status(*pid, "PPid") == Some(parent.to_string()))
}

/// A compile process of this parent that has raised its last wall.
fn walled_child_of(parent: u32) -> u32 {
    let filters = Path::new("/proc/sys/kernel/seccomp/actions_avail").exists();
    wait_for("a compile process behind its walls", || {
        let pid = child_of(parent)?;
        let last = if filters { ("Seccomp_filters", "3") } else { ("CapEff", "0000000000000000") };
        (status(pid, last.0)? == last.1).then_some(pid)
    })
}

fn kill(pid: u32) {
    let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn the_process_that_compiles_is_walled_in_and_being_killed_is_an_error_of_its_component() {
    let place = Place::new();
    let parent = compile_hostile(&place);
    let worker = walled_child_of(parent.id());
    for (name, value) in [("NoNewPrivs", "1"), ("CapEff", "0000000000000000"), ("CapPrm", "0000000000000000")]
    {
        assert_eq!(status(worker, name).as_deref(), Some(value), "{name}");
    }
    let limits = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
    for (name, limit) in [
        ("Max cpu time", "120"),
        ("Max file size", "268435456"),
        ("Max core file size", "0"),
        ("Max open files", "32"),
        ("Max address space", "3221225472"),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        assert_eq!(line.split_whitespace().next(), Some(limit), "{name}");
    }
    // Whose number is greater gets less of a processor.
    let stat = fs::read_to_string(format!("/proc/{worker}/stat")).unwrap();
    let after_name = stat.rsplit(") ").next().unwrap();
    assert_eq!(after_name.split(' ').nth(16), Some("10"), "how nice it is: {stat}");
    // Only root may look at these of a process that cannot be traced.
    if let Ok(environment) = fs::read_to_string(format!("/proc/{worker}/environ")) {
        assert!(environment.trim_end_matches('\0').starts_with("RAYON_NUM_THREADS="), "{environment:?}");
        assert!(!environment.trim_end_matches('\0').contains('\0'), "{environment:?}");
        assert_eq!(names(Path::new(&format!("/proc/{worker}/fd"))), ["0", "1", "2", "3"]);
    }

    kill(worker);
    let output = parent.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["files"][0]["code"], "compile_limit", "{said}");
    assert!(said["files"][0].to_string().contains("killed by signal 9"), "{said}");
    assert_eq!(said["files"][1]["status"], "compiled", "the next one is compiled: {said}");
    assert_eq!(names(&place.cache().join("entries")).len(), 1, "only what was compiled is kept");
    place.check_clean();
}

#[test]
fn a_compile_process_ends_with_a_parent_that_is_killed_and_leaves_nothing() {
    let place = Place::new();
    let mut parent = compile_hostile(&place);
    let worker = walled_child_of(parent.id());
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_for("the end of the compile process", || {
        let state = status(worker, "State");
        state.is_none_or(|state| state.starts_with(['Z', 'X'])).then_some(())
    });
    assert_eq!(names(&place.cache().join("entries")), [] as [String; 0]);
    place.check_clean();
    // The next start finds a cache that works.
    let said = place.hotcell(&["tool", "compile", guest::path("text-stats").to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    place.check_clean();
}

#[test]
fn a_policy_that_requires_all_walls_compiles_behind_them_or_says_which_are_missing() {
    let place = Place::new();
    let policy = place.path("policy.toml");
    fs::write(&policy, "version = 1\n[compile]\nisolation = \"required\"\n").unwrap();
    let tool = guest::path("text-stats");
    let said = place.hotcell(&[
        "tool",
        "call",
        tool.to_str().unwrap(),
        "count",
        "--args",
        "text=one two three",
        "--policy",
        policy.to_str().unwrap(),
    ]);
    if said.err.contains("some are missing") {
        println!("skipped: {}", said.err);
        assert_ne!(said.code, Some(0), "{said:?}");
        assert!(said.err.contains("best-effort"), "{said:?}");
    } else {
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    place.check_clean();
}

/// What a compile process does the first time, and the error it is.
const MISBEHAVIOURS: [(&str, &str); 8] = [
    ("kill -KILL $$", "compile_limit"),
    ("kill -ABRT $$", "compile_limit"),
    ("kill -SYS $$", "internal"),
    ("exit 3", "internal"),
    ("echo garbage; exit 0", "internal"),
    ("yes", "internal"),
    ("trap '' TERM HUP INT; while :; do sleep 1000; done", "compile_timeout"),
    ("sleep 1000 & kill -KILL $$", "compile_limit"),
];

#[tokio::test]
async fn whatever_a_compile_process_does_the_next_try_works_and_nothing_of_the_first_is_kept() {
    for (number, (misbehave, code)) in (0..).zip(MISBEHAVIOURS) {
        let place = Place::new();
        let log = place.path("log");
        let script = format!(
            "echo run >> {log}; if [ $(wc -l < {log}) -eq 1 ]; then {misbehave}; fi; exec {binary} \"$@\"",
            log = log.display(),
            binary = guest::binary().canonicalize().unwrap().display(),
        );
        let compile = Compile::worker_at("/bin/sh", vec!["-c".into(), script.into(), "sh".into()]);
        let hangs = code == "compile_timeout";
        let wall_time = if hangs { Duration::from_secs(5) } else { PATIENCE };
        let sandbox = Sandbox::new(SandboxConfig {
            cache: Cache::At(place.cache()),
            compile_limits: CompileLimits { wall_time, ..CompileLimits::default() },
            slots: 4,
            ..SandboxConfig::new(compile)
        })
        .unwrap();
        let component = generated::small(number).unwrap();
        let error = sandbox.load_bytes("first", component.clone()).await.unwrap_err();
        assert_eq!(error.code(), code, "{misbehave}: {error}");
        assert_eq!(sandbox.cache_state().entries, 0, "{misbehave}");
        let loaded = sandbox.load_bytes("second", component).await;
        assert!(loaded.is_ok(), "{misbehave}: {loaded:?}");
        assert_eq!(sandbox.cache_state().entries, 1, "{misbehave}");
        assert_eq!(fs::read_to_string(&log).unwrap(), "run\nrun\n", "{misbehave}");
        place.check_clean();
    }
}

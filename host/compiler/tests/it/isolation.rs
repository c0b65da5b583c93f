//! The walls of a real compile process as the kernel shows them, what is done without them, and components that are not
//! tried again.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{self, World, component};
use hotcell_compiler::{Compile, CompileError, CompileLimits, Compiler, Wall};
use hotcell_core::policy::Isolation;

#[test]
fn the_kernel_shows_the_walls_of_a_worker_that_waits_for_its_component() {
    let order = r#"{"isolation":"best-effort","bounds":{"component_bytes":1000,"artifact_bytes":12345,"address_space_bytes":987654144,"cpu_seconds":7}}"#;
    let mut child = Command::new(env!("CARGO_BIN_EXE_hotcell-compile-worker"))
        .args(["--hotcell-compile-worker", order])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id()));
    let value = |name: &str| {
        let status = read("status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().to_owned()
    };
    if fs::exists("/proc/sys/kernel/seccomp/actions_avail").unwrap() {
        support::eventually(|| value("Seccomp") == "2" && value("Seccomp_filters") == "3");
    } else {
        println!("skipped: the kernel does not offer seccomp");
        support::eventually(|| value("NoNewPrivs") == "1");
    }
    assert_eq!(value("NoNewPrivs"), "1");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(value(set), "0000000000000000", "{set}");
    }
    // Only root may look at what is not traceable.
    match read("environ") {
        Ok(environment) => {
            assert_eq!(environment, "");
            let descriptors = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
            assert_eq!(descriptors.count(), 4, "the standard three, and a second for the component");
        }
        Err(error) => println!("skipped: descriptors and environment cannot be seen: {error}"),
    }
    drop(child.stdin.take());
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn what_is_required_stands_or_nothing_is_compiled() {
    let world = World::new();
    let compiler = world.compiler(CompileLimits::default()).with_isolation(Isolation::Required);
    match compiler.compile(&component()) {
        Ok(_artifact) => {
            assert_eq!(compiler.last_walls().unwrap().standing, Wall::ALL);
            assert_eq!(compiler.probe().unwrap(), compiler.last_walls());
        }
        Err(error) => {
            println!("skipped: {error}");
            assert_eq!(error.code(), "isolation_missing");
            assert!(!compiler.last_walls().unwrap().complete());
        }
    }
    world.check_clean();
}

#[test]
fn a_compile_without_walls_is_not_believed_when_they_are_required() {
    let world = World::new();
    let check = |how: Compile| {
        let compiler = Compiler::new(how, CompileLimits::default()).with_isolation(Isolation::Required);
        let error = compiler.compile(&component()).unwrap_err();
        assert_eq!(error.code(), "isolation_missing");
        assert!(error.advice().contains("best-effort"));
        error.to_string()
    };
    let all = "closed descriptors, end with the parent, resource limits, no new privileges, not traceable, no capabilities, Landlock, seccomp";
    let bare = r#"echo '{"walls":null,"reply":{"status":"failed","reason":"x"}}'"#;
    assert!(check(world.shell(bare)).ends_with(all));
    let missing = r#"echo '{"walls":{"standing":[],"missing":[{"wall":"landlock","reason":"why"}],"landlock_abi":null},"reply":{"status":"unwalled"}}'"#;
    assert!(check(world.shell(missing)).contains("Landlock (why), seccomp"));
    assert!(check(Compile::InProcess).contains("compiled in this process"));
}

#[test]
fn a_component_that_ended_three_compiles_badly_is_not_tried_at_once_again() {
    let world = World::new();
    let log = world.outside("log");
    let script = format!("echo started >> {}; kill -KILL $$", log.display());
    let compiler = Compiler::new(world.shell(&script), CompileLimits::default());
    for _ in 0..3 {
        let error = compiler.compile(&component()).unwrap_err();
        assert!(matches!(error, CompileError::Limit { .. }), "{error}");
    }
    let error = compiler.compile(&component()).unwrap_err();
    assert!(matches!(&error, CompileError::NotTried { times: 3, .. }), "{error}");
    assert_eq!(error.code(), "compile_limit");
    let other = compiler.compile(&support::component_with("(core module)")).unwrap_err();
    assert!(matches!(other, CompileError::Limit { .. }), "{other}");
    assert_eq!(fs::read_to_string(&log).unwrap(), "started\n".repeat(4));
    world.check_clean();
}

#[test]
fn a_refusal_is_not_a_bad_end() {
    let world = World::new();
    let compiler =
        world.compiler(CompileLimits { wall_time: Duration::from_secs(60), ..CompileLimits::default() });
    let refused = support::component_with("(core module (memory i64 1))");
    for _ in 0..5 {
        assert_eq!(compiler.compile(&refused).unwrap_err().code(), "unsupported_feature");
    }
}

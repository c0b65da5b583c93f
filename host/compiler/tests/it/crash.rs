//! A compile process that dies, hangs, babbles or lies: an error, and nothing is left of it.

use std::time::{Duration, Instant};

use crate::support::{self, World, component};
use hotcell_compiler::{CompileError, CompileLimits, Compiler};

/// What compiling ends with when the compile process runs this script.
fn run(world: &World, script: &str, wall_time: Duration) -> CompileError {
    let limits = CompileLimits { wall_time, ..CompileLimits::default() };
    let error = Compiler::new(world.shell(script), limits).compile(&component()).unwrap_err();
    world.check_clean();
    error
}

#[track_caller]
fn check(script: &str, code: &str, words: &str) {
    let world = World::new();
    let error = run(&world, script, Duration::from_secs(30));
    assert_eq!(error.code(), code, "{script}: {error}");
    assert!(error.to_string().contains(words), "{script}: {error}");
}

#[test]
fn a_process_that_is_killed_or_aborts_is_a_limit() {
    check("kill -KILL $$", "compile_limit", "killed by signal 9");
    check("kill -ABRT $$", "compile_limit", "killed by signal 6");
    check("kill -XCPU $$", "compile_limit", "120 s of processor time");
    check("kill -SYS $$", "internal", "a system call that compiling does not need");
    check(
        "echo 'memory allocation of 3300000000 bytes failed' >&2; kill -ABRT $$",
        "compile_limit",
        "address space",
    );
    check(
        "echo 'thread main has overflowed its stack' >&2; kill -ABRT $$",
        "compile_limit",
        "nested too deeply",
    );
}

#[test]
fn a_process_that_ends_badly_is_reported_with_its_last_words() {
    check("exit 0", "internal", "not an answer");
    check("exit 101", "internal", "ended without an answer (exit status: 101)");
    check(
        "echo 'panicked at \x1b[31mred' >&2; exit 101",
        "internal",
        "it last said: panicked at \\u{1b}[31mred",
    );
    check("cat /dev/zero | head -c 9000000 >&2; echo end >&2; exit 3", "internal", "end");
}

#[test]
fn garbage_for_an_answer_is_an_error() {
    check("echo garbage", "internal", "not an answer");
    check("echo '{\"walls\":null,\"reply\":{\"status\":\"done\"}}'", "internal", "not an answer");
    check(
        "echo '{\"walls\":null,\"reply\":{\"status\":\"refused\",\"reason\":{\"error\":\"invalid\",\"reason\":\"\\u001b[2J\"}}}'",
        "internal",
        "not an answer",
    );
    check(
        "echo '{\"walls\":null,\"reply\":{\"status\":\"failed\",\"reason\":\"x\"}}'; exit 1",
        "internal",
        "ended without an answer",
    );
    check("yes", "internal", "answered more than it may");
    check("head -c 20000 /dev/zero; sleep 1000", "internal", "answered more than it may");
}

#[test]
fn an_answer_that_does_not_fit_the_file_is_an_error() {
    let engine = Compiler::new(hotcell_compiler::Compile::InProcess, CompileLimits::default())
        .header(hotcell_core::ids::Digest::of(b""))
        .unwrap()
        .engine;
    let digest = hotcell_core::ids::Digest::of(b"hello");
    let answer = |bytes: u64, engine: &str| {
        format!(
            "echo '{{\"walls\":null,\"reply\":{{\"status\":\"done\",\"bytes\":{bytes},\"digest\":\"{digest}\",\"engine\":\"{engine}\"}}}}'"
        )
    };
    let (right, long, other) = (answer(5, &engine), answer(6, &engine), answer(5, "wasmtime-1"));
    let not_reported = "not the one that was reported";
    check(&right, "internal", not_reported);
    check(&format!("printf hellO > /proc/self/fd/0; {right}"), "internal", not_reported);
    check(&format!("printf hello > /proc/self/fd/0; {long}"), "internal", not_reported);
    check(&format!("printf hello > /proc/self/fd/0; {right}"), "internal", "not a compiled component");
    check(&format!("printf hello > /proc/self/fd/0; {other}"), "internal", "another version");
    let large = "head -c 300000000 /dev/zero > /proc/self/fd/0;";
    check(&format!("{large} {right}"), "internal", "more than 268435456 bytes");
}

#[test]
fn a_process_that_hangs_is_killed_when_its_time_is_over() {
    let world = World::new();
    let limit = Duration::from_millis(200);
    for script in [
        "sleep 1000",
        "exec >&- 2>&-; sleep 1000",
        "trap '' TERM INT HUP XCPU; while :; do :; done",
        "while :; do echo x >&2; sleep 0.01; done",
        "kill -STOP $$",
    ] {
        let start = Instant::now();
        assert_eq!(run(&world, script, limit), CompileError::Timeout { limit }, "{script}");
        assert!(start.elapsed() < Duration::from_secs(3), "{script}: {:?}", start.elapsed());
    }
}

#[test]
fn what_the_process_started_is_gone_with_it() {
    let world = World::new();
    let pid = world.outside("pid");
    let script = format!("sleep 1000 & echo $! > {}; exit 0", pid.display());
    let start = Instant::now();
    assert_eq!(run(&world, &script, Duration::from_secs(30)).code(), "internal");
    assert!(start.elapsed() < Duration::from_secs(10), "an open output does not hold the caller up");
    let pid = std::fs::read_to_string(pid).unwrap();
    support::eventually(|| !support::is_running(pid.trim()));
}

#[test]
fn a_process_gets_nothing_of_this_one_but_its_order() {
    let world = World::new();
    let seen = world.outside("seen");
    let script = format!("(env; echo; cut -d ' ' -f 1,5 /proc/$$/stat; cat) > {}", seen.display());
    run(&world, &script, Duration::from_secs(30));
    let seen = std::fs::read(seen).unwrap();
    let seen = String::from_utf8_lossy(&seen);
    let (environment, rest) = seen.split_once("\n\n").unwrap();
    let names: Vec<_> =
        environment.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    // PWD, OLDPWD and `_` are the shell's own.
    let ours: Vec<_> =
        names.into_iter().filter(|name| !["PWD", "OLDPWD", "_", "SHLVL"].contains(name)).collect();
    assert_eq!(ours, ["RAYON_NUM_THREADS"]);
    let (process_and_group, input) = rest.split_once('\n').unwrap();
    let (process, group) = process_and_group.split_once(' ').unwrap();
    assert_eq!(process, group, "it leads a group of its own");
    assert!(input.starts_with("\0asm"), "the component is its standard input");
}

#[test]
fn a_failure_leaves_nothing_behind_that_stops_the_next_try() {
    let world = World::new();
    let error = run(&world, "kill -KILL $$", Duration::from_secs(30));
    assert_eq!(error.code(), "compile_limit");
    assert!(!error.advice().is_empty());
    assert!(world.compiler(CompileLimits::default()).compile(&component()).is_ok());
    world.check_clean();
}

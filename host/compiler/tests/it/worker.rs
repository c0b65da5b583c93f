//! Compiling in a real process: what it gives when all is well, and what is left of it when it is not.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, World, component, component_with, many_ifs, wat};
use hotcell_compiler::{ArtifactCache, Compile, CompileError, CompileLimits, Compiler, FileKind, LoadError};
use hotcell_core::artifact::ARTIFACT_FORMAT;
use hotcell_core::ids::Digest;

const WORKER: &str = env!("CARGO_BIN_EXE_hotcell-compile-worker");
const MARK: &str = "--hotcell-compile-worker";

#[test]
fn a_component_is_compiled_as_it_would_be_in_this_process() {
    let world = World::new();
    let bytes = component();
    let artifact = world.compiler(CompileLimits::default()).compile(&bytes).unwrap();
    let here = Compiler::new(Compile::InProcess, CompileLimits::default());
    let expected = here.compile(&bytes).unwrap();
    assert_eq!(artifact.header(), expected.header());
    assert_eq!(artifact.header(), &here.header(Digest::of(&bytes)).unwrap());
    assert_eq!(artifact.header().format, ARTIFACT_FORMAT);
    assert_eq!(Digest::of(&artifact.code().read().unwrap()), Digest::of(&expected.code().read().unwrap()));
    world.check_clean();
}

#[test]
fn a_second_start_finds_the_artifact_and_compiles_nothing() {
    let world = World::new();
    let bytes = component();
    let compiler = world.compiler(CompileLimits::default());
    let header = compiler.header(Digest::of(&bytes)).unwrap();
    let artifact = compiler.compile(&bytes).unwrap();
    let root = world.scratch().join("cache");
    ArtifactCache::open(&root).put(&artifact).unwrap();
    let found = ArtifactCache::open(&root).get(&header).found().unwrap();
    assert_eq!(
        (found.header(), found.code().read().unwrap()),
        (artifact.header(), artifact.code().read().unwrap())
    );
}

#[test]
fn what_is_refused_is_refused_in_the_same_words_as_in_this_process() {
    let world = World::new();
    let there = world.compiler(CompileLimits::default());
    let here = Compiler::new(Compile::InProcess, CompileLimits::default());
    let mut broken = component();
    let place = broken.len() / 2;
    broken[place] ^= 0xff;
    for bytes in [
        broken,
        component()[..60].to_vec(),
        component_with("(core module (memory i64 1))"),
        component_with("(import \"a:b/c@1.0.0\" (instance))"),
        // The body of a function, which only compiling looks at.
        {
            let good = component_with("(core module (func (drop (i32.const 77))))");
            let at = good.windows(2).position(|pair| pair == [0x41, 0xcd]).unwrap();
            [&good[..at], &[0xff], &good[at + 1..]].concat()
        },
    ] {
        let error = there.compile(&bytes).unwrap_err();
        assert_eq!(error, here.compile(&bytes).unwrap_err());
        assert!(matches!(error, CompileError::Component(_)), "{error}");
    }
    assert_eq!(there.compile(b"").unwrap_err(), LoadError::Empty.into());
    let module = there.compile(&wat("(module)")).unwrap_err();
    assert_eq!(module, LoadError::NotComponent { found: FileKind::CoreModule }.into());
    world.check_clean();
}

#[test]
fn a_component_above_the_size_limit_starts_no_process() {
    let world = World::new();
    let limits = CompileLimits { component_bytes: 20, ..CompileLimits::default() };
    let compiler = Compiler::new(world.shell("kill -9 $PPID"), limits);
    let error = compiler.compile(&component()).unwrap_err();
    assert_eq!(error.code(), "too_large");
}

#[test]
fn a_component_that_needs_too_much_memory_to_compile_is_stopped() {
    let world = World::new();
    let limits = CompileLimits { address_space_bytes: 768 << 20, ..CompileLimits::default() };
    let error = world.compiler(limits).compile(&many_ifs(16_000, 1_000)).unwrap_err();
    assert_eq!(error.code(), "compile_limit", "{error}");
    world.check_clean();
}

#[test]
fn a_component_that_needs_too_much_processor_time_is_stopped() {
    let world = World::new();
    let limits = CompileLimits { cpu_time: Duration::from_secs(1), ..CompileLimits::default() };
    let error = world.compiler(limits).compile(&many_ifs(16_000, 1_000)).unwrap_err();
    assert_eq!(error, CompileError::Limit { reason: "it used 1 s of processor time".into() });
    world.check_clean();
}

#[test]
fn a_component_that_takes_too_long_is_stopped_on_time() {
    let world = World::new();
    let limit = Duration::from_millis(300);
    let limits = CompileLimits { wall_time: limit, ..CompileLimits::default() };
    let bomb = many_ifs(16_000, 1_000);
    let start = Instant::now();
    let error = world.compiler(limits).compile(&bomb).unwrap_err();
    assert_eq!(error, CompileError::Timeout { limit });
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    world.check_clean();
}

#[test]
fn a_hundred_thousand_nested_blocks_end_as_a_result_and_not_as_a_crash() {
    let world = World::new();
    let depth = 100_000;
    // Too deep for the text parser, so the body is put together by hand: locals, blocks, ends, the end.
    let body = [vec![0], [0x02, 0x40].repeat(depth), vec![0x0b; depth], vec![0x0b]].concat();
    let bytes = support::component_with_body(&body);
    match world.compiler(CompileLimits::default()).compile(&bytes) {
        Ok(artifact) => assert!(artifact.code().bytes() > 0),
        Err(error) => assert!(["compile_limit", "invalid_component"].contains(&error.code()), "{error}"),
    }
    world.check_clean();
}

#[test]
fn the_worker_limits_itself_before_it_reads_anything() {
    let world = World::new();
    let order = r#"{"isolation":"best-effort","bounds":{"component_bytes":1000,"artifact_bytes":12345,"address_space_bytes":987654144,"cpu_seconds":7}}"#;
    let mut child = Command::new(WORKER)
        .args([MARK, order])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let expected = [
        ("Max cpu time", "7"),
        ("Max file size", "12345"),
        ("Max core file size", "0"),
        ("Max open files", "32"),
        ("Max address space", "987654144"),
    ];
    support::eventually(|| {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
        let value = |name: &str| {
            let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().to_owned()
        };
        expected.iter().all(|(name, limit)| value(name) == *limit)
    });
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains(r#""reply":{"status":"refused","reason":{"error":"empty"}}"#), "{answer}");
    world.check_clean();
}

#[test]
fn a_worker_does_not_outlive_a_parent_that_is_killed() {
    let order = r#"{"isolation":"best-effort","bounds":{"component_bytes":1000,"artifact_bytes":1000,"address_space_bytes":1000000000,"cpu_seconds":60}}"#;
    let script = format!("exec 3<&0; {WORKER} {MARK} '{order}' <&3 & echo $!; wait");
    let mut parent = Command::new("/bin/sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut worker = String::new();
    BufReader::new(parent.stdout.as_mut().unwrap()).read_line(&mut worker).unwrap();
    let worker = worker.trim();
    // It has come as far as limiting itself.
    support::eventually(|| {
        let limits = std::fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
        limits.lines().any(|line| line.starts_with("Max address space") && line.contains("1000000000"))
    });
    assert!(support::is_running(worker));
    parent.kill().unwrap();
    parent.wait().unwrap();
    support::eventually(|| !support::is_running(worker));
}

#[test]
fn a_program_that_is_not_started_as_a_worker_goes_on() {
    let run =
        |arguments: &[&str]| Command::new(WORKER).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!(run(&[]).status.code(), Some(2));
    assert_eq!(run(&[MARK, "a", "b"]).status.code(), Some(2));
    assert_eq!(run(&[MARK, "a", "b", "c"]).status.code(), Some(2));
    let broken = run(&[MARK, "not json"]);
    assert_eq!(broken.status.code(), Some(0));
    assert!(
        String::from_utf8(broken.stdout).unwrap().starts_with(r#"{"walls":null,"reply":{"status":"failed""#)
    );
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let world = World::new();
    let compile = |program: &str, scratch: std::path::PathBuf| {
        let how = Compile::Worker { program: program.into(), args: Vec::new(), scratch };
        Compiler::new(how, CompileLimits::default()).compile(&component()).unwrap_err().to_string()
    };
    assert!(compile("/no/such/program", world.scratch()).contains("`/no/such/program` does not start"));
    assert!(compile("relative", world.scratch()).contains("`relative` needs an absolute path"));
    assert!(
        compile(WORKER, "/no/such/folder".into())
            .contains("cannot write the component into a file in `/no/such/folder`")
    );
    world.check_clean();
}

//! Attacks from inside of real compile processes: each wall that the kernel offers must hold.
//!
//! This program has its own `main`, because it is both sides: started by `cargo test` it is the parent, which uses the
//! compiler as every program does; started by the compiler it raises the walls, and attacks where a worker compiles.

#![expect(clippy::print_stdout, reason = "the report of a test program")]

use std::process::ExitCode;
use std::time::Duration;

use hotcell_compiler::{Compile, CompileLimits, Compiler, Wall};
use hotcell_core::policy::Isolation;

#[cfg(target_os = "linux")]
mod attack;
#[cfg(target_os = "linux")]
mod attacks;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: the walls are made of what only Linux has");
    println!("test result: ok. 0 passed; 0 failed; 1 ignored");
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    hotcell_compiler::worker::worker_main_for_tests(attack::before_the_filter, attack::behind_all_walls);
    let _open = match leave_open() {
        Ok(open) => open,
        Err(error) => {
            println!("FAILED: no file can be left open for the attacks: {error}");
            return ExitCode::FAILURE;
        }
    };
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for case in attacks::CASES.iter().filter(|case| filter.iter().all(|part| case.name.contains(part))) {
        match check(case) {
            Verdict::Held => passed += 1,
            Verdict::NotOffered(wall) => {
                println!("skipped: {}, because the kernel does not offer {}", case.name, wall.name());
                skipped += 1;
            }
            Verdict::Fell(found) => {
                println!("FAILED: {}: expected {:?}, found: {found}", case.name, case.expected);
                failed += 1;
            }
        }
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {verdict}. {passed} passed; {failed} failed; {skipped} ignored");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A file that programs this one starts have too unless they close it, as a library may leave one.
#[cfg(target_os = "linux")]
fn leave_open() -> std::io::Result<std::os::fd::OwnedFd> {
    let file = std::fs::File::open(std::env::current_exe()?)?;
    // Unlike what the standard library opens, a duplicate is passed on. The first is kept until this one has a number
    // above those that every compile process has.
    let (_first, second) = (rustix::io::dup(&file)?, rustix::io::dup(&file)?);
    Ok(second)
}

/// What came of one attack.
enum Verdict {
    Held,
    NotOffered(Wall),
    Fell(String),
}

#[cfg(target_os = "linux")]
fn check(case: &attacks::Case) -> Verdict {
    if let Some(missing) = case.needs.iter().find(|wall| !attacks::offered(**wall, case.landlock_abi)) {
        return Verdict::NotOffered(*missing);
    }
    let error = run(case.name);
    let held = match case.expected {
        attacks::Expected::Killed => {
            error.contains("a system call that compiling does not need and was killed for it")
        }
        attacks::Expected::Refused => error == "compiling failed: refused",
        attacks::Expected::Stopped(words) => {
            error.starts_with("compiling was stopped") && error.contains(words)
        }
    };
    if held { Verdict::Held } else { Verdict::Fell(error) }
}

/// What a compile ends with when its process attacks instead.
#[cfg(target_os = "linux")]
fn run(attack: &str) -> String {
    let failed = |error: std::io::Error| format!("the test cannot start: {error}");
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return failed(error),
    };
    let scratch = match tempfile::tempdir() {
        Ok(scratch) => scratch,
        Err(error) => return failed(error),
    };
    let how = Compile::Worker { program, args: vec![attack.into()], scratch: scratch.path().into() };
    let limits = CompileLimits {
        wall_time: Duration::from_secs(60),
        cpu_time: Duration::from_secs(1),
        address_space_bytes: 1 << 30,
        artifact_bytes: 1 << 20,
        ..CompileLimits::default()
    };
    // It is never compiled; the parent starts a process only for what may be a component.
    let component = wat::parse_str("(component (core module (func)))");
    let compiler = Compiler::new(how, limits).with_isolation(Isolation::BestEffort);
    match component.map(|component| compiler.compile(&component)) {
        Ok(Ok(_artifact)) => "an artifact".into(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

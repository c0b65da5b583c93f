//! Components that are built to exhaust the compiler: each ends by a limit, and nothing is left of it.

use std::time::Duration;

use crate::support::{World, component_with_body, many_functions};
use hotcell_compiler::{CompileError, CompileLimits};

/// Each costs tens of seconds of processor time to compile, so a second is enough to tell.
fn limits() -> CompileLimits {
    CompileLimits { cpu_time: Duration::from_secs(1), ..CompileLimits::default() }
}

#[track_caller]
fn check_is_stopped(component: &[u8]) {
    let world = World::new();
    let stopped = world.compiler(limits()).compile(component).err();
    let limit = CompileError::Limit { reason: "it used 1 s of processor time".into() };
    assert_eq!(stopped, Some(limit));
    world.check_clean();
}

/// A body that is a loop over this code, as often as said, which changes the variable that decides whether the loop goes
/// on; so the compiler can neither leave the code out nor compute it.
fn body(code: &[u8], times: usize) -> Vec<u8> {
    // One local of 32 bits; loop; the code; local.get 0, br_if 0; end, end.
    [vec![1, 1, 0x7f, 0x03, 0x40], code.repeat(times), vec![0x20, 0, 0x0d, 0, 0x0b, 0x0b]].concat()
}

#[test]
fn a_function_of_seven_megabytes_is_stopped() {
    // local.get 0, local.get 0, i32.mul, i32.const 7, i32.add, local.set 0
    let code = [0x20, 0, 0x20, 0, 0x6c, 0x41, 7, 0x6a, 0x21, 0];
    check_is_stopped(&component_with_body(&body(&code, 700_000)));
}

#[test]
fn a_function_of_four_hundred_thousand_statements_is_stopped() {
    // local.get 0, local.get 0, i32.mul, local.set 0
    let code = [0x20, 0, 0x20, 0, 0x6c, 0x21, 0];
    check_is_stopped(&component_with_body(&body(&code, 400_000)));
}

#[test]
fn as_many_functions_as_are_accepted_are_stopped_and_three_times_as_many_are_refused() {
    // One more function is in the component around them.
    check_is_stopped(&many_functions(299_999));
    let world = World::new();
    let error = world.compiler(limits()).compile(&many_functions(900_000)).unwrap_err();
    assert_eq!(error.code(), "invalid_component", "{error}");
    world.check_clean();
}

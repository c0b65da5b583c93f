//! The program itself: what it prints and the exit codes.
//!
//! Building this target is also how the other commands select the features of
//! dev-dependencies (see `src/cargo.rs`), so keep it tiny.

use std::process::{Command, Output};

fn xtask(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(args)
        .output()
        .expect("the program was built with this test")
}

#[test]
fn help_is_printed_to_stdout_with_exit_code_0() {
    let output = xtask(&["help", "test"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Checks everything that CI checks"), "{text}");
    assert!(output.stderr.is_empty());
}

#[test]
fn wrong_usage_is_exit_code_2_and_one_error_on_stderr() {
    let output = xtask(&["tset"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: unknown command `tset`: expected tools, demo"), "{text}");
}

#[test]
fn a_guest_that_does_not_exist_is_an_error_that_lists_the_guests() {
    let output = xtask(&["tools", "no-such-guest"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: no guest is called `no-such-guest`: expected one of"), "{text}");
}

//! Tests of what can be typed.

use super::*;

fn read(line: &str) -> Result<Command> {
    parse(line.split_whitespace().map(OsString::from))
}

fn check(line: &str, expected: &Command) {
    assert_eq!(read(line).unwrap(), *expected, "{line}");
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn refused(line: &str, part: &str) {
    let message = format!("{:#}", read(line).unwrap_err());
    assert!(message.contains(part), "`{line}` was refused with: {message}");
}

#[test]
fn no_command_and_every_spelling_of_help_show_help() {
    check("", &Command::Help(Topic::Overview));
    check("help", &Command::Help(Topic::Overview));
    check("--help", &Command::Help(Topic::Overview));
    check("-h", &Command::Help(Topic::Overview));
    check("help test", &Command::Help(Topic::Test));
    check("test --help", &Command::Help(Topic::Test));
    check("bench -h", &Command::Help(Topic::Bench));
    check("demo --model x --help", &Command::Help(Topic::Demo));
}

#[test]
fn help_after_the_dashes_belongs_to_the_program_that_is_run() {
    check("demo -- --help", &Command::Demo { args: words("--help") });
}

#[test]
fn tools_takes_names_and_no_options() {
    check("tools", &Command::Tools { names: Vec::new() });
    check("tools notes misbehave", &Command::Tools { names: words("notes misbehave") });
    refused("tools --release", "no option `--release`");
}

#[test]
fn demo_passes_every_argument_on() {
    check("demo", &Command::Demo { args: Vec::new() });
    check("demo --model openai/x --json", &Command::Demo { args: words("--model openai/x --json") });
    check("demo -- --json -- y", &Command::Demo { args: words("--json -- y") });
}

#[test]
fn test_reads_its_option_filters_and_the_arguments_of_the_binaries() {
    check("test", &Command::Test(TestOptions::default()));
    check(
        "test deadline --fast fuel -- --nocapture --fast",
        &Command::Test(TestOptions {
            scope: Scope::Light,
            filters: words("deadline fuel"),
            harness: words("--nocapture --fast"),
        }),
    );
    refused("test --nocapture", "after `--`");
}

#[test]
fn bench_reads_names_and_the_arguments_of_the_benches() {
    check("bench", &Command::Bench { names: Vec::new(), args: Vec::new() });
    check("bench call -- --json", &Command::Bench { names: words("call"), args: words("--json") });
    refused("bench --json", "after `--`");
}

#[test]
fn an_unknown_word_is_refused_with_the_known_ones() {
    refused("tset", "unknown command `tset`: expected tools, demo, test, bench, fuzz or help");
    refused("help tset", "no help about `tset`");
    refused("help test bench", "takes one command, found 2");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStringExt;

    let bad = OsString::from_vec(vec![0x66, 0xff]);
    let message = format!("{:#}", parse([bad].into_iter()).unwrap_err());
    assert!(message.contains("not valid UTF-8"), "{message}");
}

#[test]
fn fuzz_takes_names_and_a_time() {
    check("fuzz", &Command::Fuzz { names: Vec::new(), seconds: 60 });
    check("fuzz inspect --seconds 5", &Command::Fuzz { names: words("inspect"), seconds: 5 });
    check("fuzz --help", &Command::Help(Topic::Fuzz));
    refused("fuzz --seconds", "needs a number above zero");
    refused("fuzz --seconds 0", "needs a number above zero");
    refused("fuzz --minutes 1", "no option `--minutes`");
}

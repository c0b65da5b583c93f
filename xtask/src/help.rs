//! The help texts.

/// What help is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// All commands.
    Overview,
    /// `cargo xtask tools`.
    Tools,
    /// `cargo xtask demo`.
    Demo,
    /// `cargo xtask test`.
    Test,
    /// `cargo xtask bench`.
    Bench,
    /// `cargo xtask fuzz`.
    Fuzz,
}

/// The help text about a topic.
pub(crate) fn text(topic: Topic) -> &'static str {
    match topic {
        Topic::Overview => OVERVIEW,
        Topic::Tools => TOOLS,
        Topic::Demo => DEMO,
        Topic::Test => TEST,
        Topic::Bench => BENCH,
        Topic::Fuzz => FUZZ,
    }
}

const OVERVIEW: &str = "\
The project's own commands.

Usage: cargo xtask COMMAND

Commands:
  demo    build everything and watch an agent work with sandboxed tools, offline
  test    check everything: format, lints, unit, doc, end-to-end and hostile tests
  tools   build the host and every guest component
  bench   run the benches
  fuzz    feed hostile bytes to what reads components
  help    show this text, or the help of one command

Examples:
  cargo xtask demo
  cargo xtask test --fast
  cargo xtask help test
";

const TOOLS: &str = "\
Builds the `hotcell` binary and, with `hotcell tool build`, the guest components.

Usage: cargo xtask tools [NAME]...

NAME is a folder of example-tools/ or tests/guests/; without one, all are built.
The Rust target wasm32-wasip2 is added with rustup when it is missing.
Example tools go to target/tools/NAME.wasm, test guests to target/tools/tests/NAME.wasm.
RUSTFLAGS and compiler wrappers are not applied to guests.

Examples:
  cargo xtask tools
  cargo xtask tools csv-query notes
";

const DEMO: &str = "\
Builds everything, embeds the example components in `hotcell` and runs `hotcell demo`.

Usage: cargo xtask demo [ARGS]...

ARGS go to `hotcell demo`; its exit code is the exit code of this command.
The first build compiles the engine, which takes some minutes; the demo itself takes seconds.

Examples:
  cargo xtask demo
  cargo xtask demo --model openai/gpt-5
  cargo xtask demo -- --help
";

const TEST: &str = "\
Checks everything that CI checks and prints `N passed, N failed` as the last line.

Usage: cargo xtask test [--fast] [FILTER]... [-- ARGS]

Steps: format, clippy with warnings as errors, the components, all tests of the
workspace (unit, doc, tidy, guest SDK, end to end, hostile), the example tools' own tests and
60 seconds of each fuzz target.
A step without tests of its own counts as one.

Options:
  --fast    only the crates that build without wasmtime, and no components
FILTER      only tests whose name contains one of these words; skips format and clippy
ARGS        go to the test binaries

Examples:
  cargo xtask test
  cargo xtask test --fast
  cargo xtask test deadline -- --nocapture
";

const BENCH: &str = "\
Builds the components and runs the benches, with the profile of the demo and the tests.

Usage: cargo xtask bench [NAME]... [-- ARGS]

NAME is a bench of benches/; without one, all are run. ARGS go to the benches.

Examples:
  cargo xtask bench
  cargo xtask bench call -- --json
";

const FUZZ: &str = "\
Feeds bytes that nobody would write to what reads components, and keeps what makes it fail.

Usage: cargo xtask fuzz [TARGET]... [--seconds N]

TARGET is a file of fuzz/targets/; without one, all are fed, one after the other.
Each begins with the inputs in fuzz/corpus/TARGET; new ones that reach other code stay in
target/fuzz/found/TARGET. An input that fails is kept in target/fuzz/crashes/TARGET and named.
Needs a C++ compiler, for libFuzzer.

Options:
  --seconds N    how long each target is fed; 60 when not given

Examples:
  cargo xtask fuzz
  cargo xtask fuzz inspect --seconds 600
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_help_text_has_a_usage_line_and_examples_that_parse() {
        for topic in [Topic::Overview, Topic::Tools, Topic::Demo, Topic::Test, Topic::Bench, Topic::Fuzz] {
            let text = text(topic);
            assert!(text.contains("Usage: cargo xtask"), "{text}");
            let (_, examples) = text.split_once("Examples:\n").expect("each text ends with examples");
            assert!(!examples.trim().is_empty());
            for line in examples.lines() {
                let words = line.trim().strip_prefix("cargo xtask").expect("an example is a command of ours");
                crate::arguments::parse(words.split_whitespace().map(Into::into)).unwrap();
            }
        }
    }
}

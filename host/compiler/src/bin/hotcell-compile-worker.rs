//! A program that does nothing but compile for others, for embedding programs whose own `main` cannot start with
//! [`hotcell_compiler::worker_main`].

use std::process::ExitCode;

fn main() -> ExitCode {
    hotcell_compiler::worker_main();
    // Started by a person, not by a compiler.
    ExitCode::from(2)
}

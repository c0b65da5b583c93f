//! `cargo xtask fuzz`: feeds hostile bytes to what reads them.
//!
//! The targets are a workspace of their own, `fuzz/`, whose flags make a stable compiler note which code an input
//! reaches. They depend on the parts that need no engine, so they build in a minute or two.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::console::Console;
use crate::layout::Layout;
use crate::process;

/// How long each target is fed when nothing else is said, and in CI.
pub(crate) const SECONDS: u64 = 60;

/// How much longer than asked a target may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// What no input may make a target do: use this much memory, ask for this much at once, or take this long.
const LIMITS: [&str; 4] = ["-rss_limit_mb=1024", "-malloc_limit_mb=256", "-timeout=5", "-max_len=65536"];

/// Lines of a target's own words that are shown when it fails.
const WORDS: usize = 30;

/// Feeds the targets with these names, or all, one after the other.
///
/// # Errors
/// A name without a target, a target that does not build, or an input that a target fails on; it is kept and named.
pub(crate) fn run(layout: &Layout, console: &Console, names: &[String], seconds: u64) -> Result<ExitCode> {
    let known = targets(layout)?;
    for name in names {
        if !known.contains(name) {
            bail!("no fuzz target is called `{name}`: expected one of {}", known.join(", "));
        }
    }
    let chosen = known.iter().filter(|name| names.is_empty() || names.contains(name));
    console.step("build fuzz targets", || build(layout))?;
    for name in chosen {
        console.step(&format!("fuzz {name} for {seconds} s"), || feed(layout, console, name, seconds))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The names of the targets: one for each source file.
fn targets(layout: &Layout) -> Result<Vec<String>> {
    let folder = layout.fuzz().join("targets");
    let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

fn build(layout: &Layout) -> Result<()> {
    let triple = triple()?;
    process::run(cargo::fuzz(layout, "build").args(["--bins", "--target", &triple]))
}

/// Feeds one target from its corpus; what is found beyond it stays in the target folder.
fn feed(layout: &Layout, console: &Console, name: &str, seconds: u64) -> Result<()> {
    let work = layout.fuzz_target();
    let program = work.join(triple()?).join("debug").join(name);
    let (found, crashes) = (work.join("found").join(name), work.join("crashes").join(name));
    for folder in [&found, &crashes] {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let known_crashes = files(&crashes)?;
    let log = work.join(format!("{name}.log"));
    let words = File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
    let mut command = Command::new(&program);
    command
        .args(LIMITS)
        .arg(format!("-max_total_time={seconds}"))
        .arg("-print_final_stats=1")
        // The slash at the end makes it a folder.
        .arg(format!("-artifact_prefix={}/", crashes.display()))
        .args([&found, &layout.fuzz().join("corpus").join(name)])
        .env("RUST_BACKTRACE", "0")
        .stderr(words);
    let ended = process::run_within(&mut command, Duration::from_secs(seconds) + PATIENCE);
    let words =
        String::from_utf8_lossy(&fs::read(&log).context("cannot read what the target said")?).into_owned();
    if let Err(error) = ended {
        let mut new = files(&crashes)?;
        new.retain(|file| !known_crashes.contains(file));
        bail!("{}", failure(&program, &format!("{error:#}"), &new, &words, &log));
    }
    let inputs = executed(&words)
        .with_context(|| format!("`{name}` does not say how many inputs it tried; see {}", log.display()))?;
    console.progress(&format!("fuzz {name}: {inputs} inputs, no failure"));
    Ok(())
}

/// What failed, with the inputs that were kept and how to see it again.
fn failure(program: &Path, ended: &str, inputs: &[PathBuf], words: &str, log: &Path) -> String {
    let kept = inputs.iter().map(|input| format!("\n  input: {}", input.display()));
    let again = inputs
        .iter()
        .take(1)
        .map(|input| format!("\n  help: see it again with `{} {}`", program.display(), input.display()));
    let lines: Vec<&str> = words.lines().collect();
    let tail = lines.get(lines.len().saturating_sub(WORDS)..).unwrap_or_default().join("\n    ");
    format!(
        "{ended}{}{}\n  all it said: {}\n    {tail}",
        kept.collect::<String>(),
        again.collect::<String>(),
        log.display()
    )
}

/// How many inputs were tried, as libFuzzer says at the end; none counts as not said.
fn executed(words: &str) -> Option<u64> {
    let line = words.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok().filter(|inputs| *inputs > 0)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
    entries.map(|entry| Ok(entry.context("cannot list a folder")?.path())).collect()
}

/// The triple of this machine. Naming it keeps the flags of the targets away from build scripts.
fn triple() -> Result<String> {
    let rustc = cargo::variable("RUSTC").unwrap_or_else(|| PathBuf::from("rustc"));
    let said = process::output(Command::new(rustc).arg("-vV")).context("cannot ask rustc for its host")?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_inputs_and_how_to_see_it_again() {
        let words = (0..40).map(|line| format!("line {line}\n")).collect::<String>();
        let text = failure(
            Path::new("/t/inspect"),
            "`inspect` ended with exit code 77",
            &[PathBuf::from("/t/crashes/crash-1"), PathBuf::from("/t/crashes/crash-2")],
            &words,
            Path::new("/t/inspect.log"),
        );
        for part in [
            "ended with exit code 77",
            "input: /t/crashes/crash-1",
            "input: /t/crashes/crash-2",
            "`/t/inspect /t/crashes/crash-1`",
            "/t/inspect.log",
            "line 39",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("line 9\n"), "{text}");
    }

    #[test]
    fn a_target_that_tried_nothing_says_nothing() {
        assert_eq!(executed("stat::number_of_executed_units: 4711\nmore"), Some(4711));
        assert_eq!(executed("stat::number_of_executed_units: 0"), None);
        assert_eq!(executed("Done"), None);
    }
}

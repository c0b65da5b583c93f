//! `hotcell doctor`: whether everything works here, and what protection is missing.

use std::fmt::Write as _;
use std::time::Instant;

use hotcell::engine::UNTRUSTED;
use hotcell::units::{format_bytes, format_duration};
use hotcell::{
    ADVISORIES_UNTIL, CallLimits, Compile, CompileLimits, ENGINE_VERSION, Sandbox, SandboxConfig, advisories,
};
use serde::Serialize;

use crate::arguments::Doctor;
use crate::console::{print, print_json};
use crate::embedded;
use crate::ending::{Complaint, Exit};
use crate::report::grouped;

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    platform: String,
    checks: Vec<Check>,
    limits: CallLimits,
    /// Components inside of this binary.
    embedded: Vec<&'static str>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// As it should be.
    Good,
    /// Works, with less than there could be.
    Missing,
    /// Something that is needed does not work.
    Failed,
}

impl Check {
    fn new(name: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self { name, state, detail: detail.into(), help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn failed(name: &'static str, complaint: Complaint) -> Self {
        let help = complaint.help.join("; ");
        let detail = format!("{:#}", anyhow::Error::from(complaint));
        let check = Self::new(name, State::Failed, detail);
        if help.is_empty() { check } else { check.help(help) }
    }
}

/// Looks at everything and says how it is.
pub(crate) async fn run(command: &Doctor) -> anyhow::Result<Exit> {
    let mut checks = vec![platform_check(), advisory_check(), features_check()];
    checks.extend(sandbox_checks().await);
    checks.extend(protection_checks());
    let failed = checks.iter().any(|check| check.state == State::Failed);
    let exit = if failed { Exit::Failed } else { Exit::Done };
    let findings = Findings {
        version: env!("CARGO_PKG_VERSION"),
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        checks,
        limits: CallLimits::default(),
        embedded: embedded::names(),
    };
    if command.json {
        print_json(&findings)?;
    } else {
        print(describe(&findings))?;
    }
    Ok(exit)
}

fn platform_check() -> Check {
    let name = "platform";
    let platform = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    if cfg!(target_os = "linux") && cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        Check::new(name, State::Good, platform)
    } else {
        Check::new(
            name,
            State::Missing,
            format!("{platform}: it builds here, and nobody has tested its protection"),
        )
        .help("use Linux on x86-64 or aarch64 for components nobody trusts")
    }
}

async fn sandbox_checks() -> Vec<Check> {
    let began = Instant::now();
    let sandbox = match Sandbox::new(SandboxConfig::new(Compile::worker())) {
        Ok(sandbox) => sandbox,
        Err(error) => return vec![Check::failed("sandbox", error.into())],
    };
    let started = format_duration(began.elapsed());
    let engine = Check::new("sandbox", State::Good, format!("{} started in {started}", sandbox.engine()));
    let compiler = match sandbox.check_compiler().await {
        Ok(check) => Check::new(
            "compile worker",
            State::Good,
            format!("compiled a small component in a process of its own in {}", format_duration(check.took)),
        ),
        Err(error) => Check::failed("compile worker", error.into()),
    };
    let cache = cache_check(&sandbox);
    sandbox.shutdown().await;
    vec![engine, compiler, cache]
}

fn cache_check(sandbox: &Sandbox) -> Check {
    let name = "cache";
    let state = sandbox.cache_state();
    let Some(folder) = state.folder.as_ref().filter(|_| state.unavailable.is_none()) else {
        let reason = state.unavailable.unwrap_or_else(|| "compiled components are not kept".to_owned());
        return Check::new(name, State::Missing, reason).help(
            "components are compiled at every start; set HOTCELL_CACHE_DIR to a folder that is yours alone",
        );
    };
    let shown = folder.display();
    let held = format!(
        "{} compiled components, {} of {}, in {shown}",
        state.entries,
        format_bytes(state.bytes),
        format_bytes(state.max_bytes)
    );
    match (state.rejected_ever, state.rejected_file) {
        (0, _) | (_, None) => Check::new(name, State::Good, held),
        (rejected, Some(file)) => Check::new(
            name,
            State::Missing,
            format!("{held}; {rejected} times an entry was not what hotcell wrote, and was removed"),
        )
        .help(format!(
            "if you did not change the entries, somebody else can write there: find out who; then remove {}",
            file.display()
        )),
    }
}

fn advisory_check() -> Check {
    let name = "advisories";
    let known = advisories();
    let affected: Vec<_> = known.iter().filter(|advisory| advisory.affects(ENGINE_VERSION)).collect();
    let scope = format!("of {} known until {ADVISORIES_UNTIL}", known.len());
    if affected.is_empty() {
        return Check::new(
            name,
            State::Good,
            format!("wasmtime {ENGINE_VERSION} is affected by none {scope}"),
        );
    }
    let listed: Vec<_> =
        affected.iter().map(|advisory| format!("{} ({})", advisory.id, advisory.title)).collect();
    let concerns = affected.iter().any(|advisory| advisory.concerns);
    Check::new(
        name,
        if concerns { State::Failed } else { State::Missing },
        format!("wasmtime {ENGINE_VERSION} is affected by {} {scope}: {}", affected.len(), listed.join(", ")),
    )
    .help("update hotcell")
}

fn features_check() -> Check {
    let off: Vec<_> =
        UNTRUSTED.features_off.iter().map(|name| name.to_lowercase().replace('_', "-")).collect();
    Check::new("engine features", State::Good, format!("switched off: {}", off.join(", ")))
}

/// Protection that a later version brings. Shown, so that nobody relies on it.
fn protection_checks() -> [Check; 3] {
    let missing = |name, detail: &str| Check::new(name, State::Missing, detail);
    [
        missing(
            "Landlock",
            "not used in this version: the compile worker is limited in time, memory and files, and not in what it may open",
        ),
        missing("seccomp", "not used in this version: the compile worker may make every system call"),
        missing(
            "stack zeroing",
            "off: the stack of one call is not wiped before the next; guests cannot read it, and a host with many tenants wants it on",
        ),
    ]
}

fn describe(findings: &Findings) -> String {
    let mut text = format!("hotcell {} on {}\n", findings.version, findings.platform);
    let mut line = |part: std::fmt::Arguments<'_>| {
        if text.write_fmt(part).is_err() {
            unreachable!("writing to a string cannot fail");
        }
    };
    for check in &findings.checks {
        let state = match check.state {
            State::Good => "good",
            State::Missing => "missing",
            State::Failed => "FAILED",
        };
        line(format_args!("  {state:<8} {}: {}\n", check.name, check.detail));
        if let Some(help) = &check.help {
            line(format_args!("           help: {help}\n"));
        }
    }
    let limits = &findings.limits;
    line(format_args!(
        "each call, unless a policy says otherwise: {}, {} of memory, fuel {}, results of {}\n",
        format_duration(limits.timeout),
        format_bytes(limits.memory_bytes),
        grouped(limits.fuel),
        format_bytes(limits.result_bytes)
    ));
    let compile = CompileLimits::default();
    line(format_args!(
        "each compilation: {}, {} of processor time, {} of address space, components of {}, artifacts of {}\n",
        format_duration(compile.wall_time),
        format_duration(compile.cpu_time),
        format_bytes(compile.address_space_bytes),
        format_bytes(compile.component_bytes),
        format_bytes(compile.artifact_bytes)
    ));
    let embedded = if findings.embedded.is_empty() { "none".into() } else { findings.embedded.join(", ") };
    line(format_args!("components inside of this binary: {embedded}\n"));
    text
}

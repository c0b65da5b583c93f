//! `hotcell doctor`: whether everything works here, and what protection is missing.

mod check;
mod engine;
mod view;
mod walls;

use std::time::Instant;

use hotcell::engine::UNTRUSTED;
use hotcell::policy::CompilePolicy;
use hotcell::units::{format_bytes, format_duration};
use hotcell::{
    ADVISORIES_UNTIL, Advisory, CacheState, CallLimits, Compile, CompileLimits, CompilerCheck,
    ENGINE_VERSION, Isolation, Sandbox, SandboxConfig, Walls, advisories,
};
use serde::Serialize;

use crate::arguments::Doctor;
use crate::console::{print, print_json};
use crate::embedded;
use crate::ending::Exit;
use check::{Check, State};

/// What was found; what `--json` prints.
#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    platform: String,
    /// Whether all that is required is there.
    ok: bool,
    checks: Vec<Check>,
    engine: EngineFacts,
    advisories: AdvisoryFacts,
    /// What the policy says of the walls around the compile process.
    isolation: Isolation,
    /// The walls around the compile process; none when no process answered.
    walls: Option<Walls>,
    /// What the cache holds; none when the engine does not start.
    cache: Option<CacheState>,
    limits: CallLimits,
    compile_limits: CompileFacts,
    /// Components inside of this binary.
    embedded: Vec<&'static str>,
}

/// What the engine is.
#[derive(Debug, Serialize)]
struct EngineFacts {
    version: &'static str,
    /// Features of WebAssembly that are refused.
    features_off: &'static [&'static str],
}

/// What is known of faults of the engine.
#[derive(Debug, Serialize)]
struct AdvisoryFacts {
    known: usize,
    until: &'static str,
    /// Those that the engine that is built in has.
    affecting: Vec<Advisory>,
}

/// What one compilation may use.
#[derive(Debug, Serialize)]
struct CompileFacts {
    wall_time_ms: u128,
    cpu_time_ms: u128,
    address_space_bytes: u64,
    component_bytes: u64,
    artifact_bytes: u64,
}

/// Looks at everything and says how it is.
pub(crate) async fn run(command: &Doctor) -> anyhow::Result<Exit> {
    let CompilePolicy { isolation, .. } = command.policy.load()?.policy.compile;
    let affecting: Vec<_> =
        advisories().into_iter().filter(|advisory| advisory.affects(ENGINE_VERSION)).collect();
    let found = sandbox_checks(isolation).await;
    let mut checks =
        vec![engine::platform(), engine::advisories(&affecting, advisories().len()), engine::features()];
    checks.extend(found.checks);
    checks.push(engine::stack_zeroing());
    let ok = checks.iter().all(|check| check.state != State::Failed);
    let compile = CompileLimits::default();
    let findings = Findings {
        version: env!("CARGO_PKG_VERSION"),
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        ok,
        checks,
        engine: EngineFacts { version: ENGINE_VERSION, features_off: UNTRUSTED.features_off },
        advisories: AdvisoryFacts { known: advisories().len(), until: ADVISORIES_UNTIL, affecting },
        isolation,
        walls: found.walls,
        cache: found.cache,
        limits: CallLimits::default(),
        compile_limits: CompileFacts {
            wall_time_ms: compile.wall_time.as_millis(),
            cpu_time_ms: compile.cpu_time.as_millis(),
            address_space_bytes: compile.address_space_bytes,
            component_bytes: compile.component_bytes,
            artifact_bytes: compile.artifact_bytes,
        },
        embedded: embedded::names(),
    };
    if command.json {
        print_json(&findings)?;
    } else {
        print(view::describe(&findings))?;
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

/// What starting the engine and compiling something showed.
#[derive(Default)]
struct Tried {
    checks: Vec<Check>,
    walls: Option<Walls>,
    cache: Option<CacheState>,
}

async fn sandbox_checks(isolation: Isolation) -> Tried {
    let began = Instant::now();
    let config = SandboxConfig { isolation, ..SandboxConfig::new(Compile::worker()) };
    let sandbox = match Sandbox::new(config) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            return Tried { checks: vec![Check::failed("sandbox", error.into())], ..Tried::default() };
        }
    };
    let started = format_duration(began.elapsed());
    let engine = Check::new("sandbox", State::Good, format!("{} started in {started}", sandbox.engine()));
    let (compiler, walls) = match sandbox.check_compiler().await {
        Ok(CompilerCheck { took, walls }) => (
            Check::new(
                "compile worker",
                State::Good,
                format!("compiled a small component in a process of its own in {}", format_duration(took)),
            ),
            walls,
        ),
        // Walls that are missing stop a compile only when they are required, and are told one by one below.
        Err(error) => (Check::failed("compile worker", error.into()), sandbox.compile_walls()),
    };
    let state = sandbox.cache_state();
    let mut checks = vec![engine, compiler];
    checks.extend(walls::checks(walls.as_ref(), isolation));
    checks.push(cache_check(&state));
    sandbox.shutdown().await;
    Tried { checks, walls, cache: Some(state) }
}

fn cache_check(state: &CacheState) -> Check {
    let name = "cache";
    let Some(folder) = state.folder.as_ref().filter(|_| state.unavailable.is_none()) else {
        let reason =
            state.unavailable.clone().unwrap_or_else(|| "compiled components are not kept".to_owned());
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
    match (state.rejected_ever, &state.rejected_file) {
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

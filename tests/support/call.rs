//! Short ways to load a component and to call it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use hotcell_compiler::{Compile, CompileLimits, Compiler};
use hotcell_core::artifact::Artifact;
use hotcell_core::call::{CallReport, CallRequest, Caller};
use hotcell_core::grant::Grants;
use hotcell_core::ids::{CallId, Digest, PrincipalId};
use hotcell_core::limits::CallLimits;
use hotcell_sandbox::{LoadedComponent, Prepared, Sandbox, SandboxConfig};

use crate::services::Recorder;

/// Compiled components by digest: a test binary meets the same guest many times.
static ARTIFACTS: LazyLock<Mutex<HashMap<Digest, Artifact>>> = LazyLock::new(Mutex::default);

/// Compiles a component in this process.
///
/// # Panics
/// When it does not compile.
#[must_use]
pub fn compile(bytes: &[u8]) -> Artifact {
    let digest = Digest::of(bytes);
    let mut artifacts = ARTIFACTS.lock().unwrap_or_else(PoisonError::into_inner);
    let artifact = artifacts.entry(digest).or_insert_with(|| {
        let compiler = Compiler::new(Compile::InProcess, CompileLimits::default());
        compiler.compile(bytes).expect("the component compiles")
    });
    artifact.clone()
}

/// A sandbox for tests: two guest threads and 64 slots.
///
/// # Panics
/// When the system does not give it.
#[must_use]
pub fn sandbox() -> Sandbox {
    sandbox_with(SandboxConfig { slots: 64, ..SandboxConfig::default() })
}

/// A sandbox of this shape.
///
/// # Panics
/// When the system does not give it.
#[must_use]
pub fn sandbox_with(config: SandboxConfig) -> Sandbox {
    Sandbox::new(config).expect("the sandbox starts")
}

/// Compiles and loads.
///
/// # Panics
/// When the component does not load.
#[must_use]
pub fn load(sandbox: &Sandbox, bytes: &[u8]) -> LoadedComponent {
    sandbox.load(&compile(bytes)).expect("the component loads")
}

/// Compiles, loads and prepares without grants.
///
/// # Panics
/// When the component does not load.
#[must_use]
pub fn prepare(sandbox: &Sandbox, bytes: &[u8]) -> Prepared {
    load(sandbox, bytes).prepare(&Grants::default()).expect("no grants can be opened")
}

/// One call, to be changed before it is made.
#[derive(Debug, Clone)]
pub struct Call {
    /// The request.
    pub request: CallRequest,
}

impl Call {
    /// A call of a tool with the default limits.
    #[must_use]
    pub fn new(prepared: &Prepared, tool: &str, arguments: &str) -> Self {
        Self {
            request: CallRequest {
                caller: Caller::local(),
                call: CallId::parse("test").expect("a constant that is an id"),
                idempotency_key: None,
                component: prepared.digest(),
                tool: tool.to_owned(),
                arguments: arguments.to_owned(),
                limits: CallLimits::default(),
                remaining: Duration::from_secs(3600),
            },
        }
    }

    /// The same with other limits.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut CallLimits)) -> Self {
        change(&mut self.request.limits);
        self
    }

    /// The same for another principal.
    ///
    /// # Panics
    /// When the name is no id.
    #[must_use]
    pub fn principal(mut self, name: &str) -> Self {
        self.request.caller.principal = PrincipalId::parse(name).expect("an id");
        self
    }

    /// Makes the call.
    pub async fn run(self, prepared: &Prepared) -> CallReport {
        prepared.call(self.request, Arc::new(Recorder::default())).await
    }
}

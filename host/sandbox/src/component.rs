//! A loaded component, and the same with its grants opened.

use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;

use hotcell_core::artifact::{Artifact, Code};
use hotcell_core::call::{CallReport, CallRequest};
use hotcell_core::grant::Grants;
use hotcell_core::ids::{CallId, Digest, PrincipalId, ToolName};
use hotcell_core::limits::CallLimits;
use hotcell_core::outcome::Outcome;
use hotcell_core::services::HostServices;
use hotcell_core::tool::{Definition, Hints};
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre};

use crate::abi::{Abi, RawDefinition};
use crate::call_state::Reply;
use crate::error::SandboxError;
use crate::grants::OpenGrants;
use crate::guest::{Job, Request, Template};
use crate::host::Host;
use crate::sandbox::{Core, Place, Submission};

/// The longest deadline of a call, so that adding it to the clock cannot overflow.
const MAX_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 3600);

/// How long a component may take to name its tools.
const DEFINITIONS_TIMEOUT: Duration = Duration::from_secs(2);

/// A component that fits this sandbox. Nothing of it has run.
#[derive(Clone)]
pub struct LoadedComponent {
    core: Arc<Core>,
    digest: Digest,
    instance: InstancePre<Host>,
    abi: Abi,
    units: u32,
}

impl std::fmt::Debug for LoadedComponent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedComponent")
            .field("digest", &self.digest)
            .field("units", &self.units)
            .finish_non_exhaustive()
    }
}

impl LoadedComponent {
    pub(crate) fn load(core: &Arc<Core>, artifact: &Artifact) -> Result<Self, SandboxError> {
        let header = artifact.header();
        let engine = core.fingerprint();
        if header.engine != engine {
            return Err(SandboxError::OtherEngine {
                expected: engine.to_owned(),
                found: header.engine.clone(),
            });
        }
        let load = |error: wasmtime::Error| SandboxError::Load { reason: format!("{error:#}") };
        let component = component_of(&core.engine, artifact).map_err(load)?;
        let instance = core
            .linker
            .instantiate_pre(&component)
            .map_err(|error| SandboxError::Import { reason: format!("{error:#}") })?;
        let abi = Abi::find(&component)?;
        let units = units(&component, core.config.slots)?;
        Ok(Self { core: Arc::clone(core), digest: header.source, instance, abi, units })
    }

    /// The digest of the component's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Opens what is granted, once for all calls.
    ///
    /// # Errors
    /// A granted directory that does not exist, cannot be read, or would show the whole host.
    pub fn prepare(&self, grants: &Grants) -> Result<Prepared, SandboxError> {
        let template = Template {
            engine: self.core.engine.clone(),
            instance: self.instance.clone(),
            abi: self.abi,
            grants: OpenGrants::open(grants)?,
        };
        Ok(Prepared {
            core: Arc::clone(&self.core),
            digest: self.digest,
            template: Arc::new(template),
            units: self.units,
        })
    }

    /// Asks the component for its tools: without grants, within two seconds.
    ///
    /// Runs guest code; hosts do it once, when the definitions are not embedded.
    ///
    /// # Errors
    /// The guest failed, or what it said is not valid.
    pub async fn definitions(
        &self,
        limits: CallLimits,
        services: Arc<dyn HostServices>,
    ) -> Result<Vec<Definition>, SandboxError> {
        let prepared = self.prepare(&Grants::default())?;
        let timeout = limits.timeout.min(DEFINITIONS_TIMEOUT);
        let id = |text: &str| SandboxError::Config(format!("`{text}` is no id"));
        let submission = Submission {
            template: prepared.template,
            units: self.units,
            call: CallId::parse("definitions").map_err(|_never| id("definitions"))?,
            principal: PrincipalId::parse("definitions").map_err(|_never| id("definitions"))?,
            limits: CallLimits { timeout, ..limits },
            services,
            job: Job::Definitions,
            place: Place::GuestThread,
        };
        match self.core.submit(submission, std::future::pending()).await {
            Reply::Definitions(raw) => raw.into_iter().map(check).collect(),
            Reply::Report(report) => Err(SandboxError::Definitions(report)),
        }
    }
}

/// The engine's own form of an artifact. A sealed file is mapped, memory is copied.
fn component_of(engine: &Engine, artifact: &Artifact) -> wasmtime::Result<Component> {
    if let Code::Sealed { file, .. } = artifact.code() {
        // The engine opens by path; this one names the very file, which has no other.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: as below; the file is sealed, so what is mapped stays what was authenticated.
        #[expect(unsafe_code, reason = "loads native code whose origin the type `Artifact` vouches for")]
        let mapped = unsafe { Component::deserialize_file(engine, path) };
        // Without `/proc` there is the way below.
        if mapped.is_ok() {
            return mapped;
        }
    }
    let code = artifact.code().read()?;
    // SAFETY: `Artifact` can only be made by stating, in an `unsafe` call of its own, that the bytes are
    // what this engine's compiler wrote, either fresh or authenticated; the header names the engine.
    // Needed because the engine offers no safe way to load code that was compiled before.
    #[expect(unsafe_code, reason = "loads native code whose origin the type `Artifact` vouches for")]
    unsafe {
        Component::deserialize(engine, code)
    }
}

/// How many slots of the pool one instance takes: as many as it has memories or tables, whichever are more.
fn units(component: &Component, slots: u32) -> Result<u32, SandboxError> {
    let Some(needed) = component.resources_required() else {
        return Err(SandboxError::Load {
            reason: "it imports core modules, so what it needs is not known; link them into the component"
                .to_owned(),
        });
    };
    let units = needed.num_memories.max(needed.num_tables).max(1);
    if units > slots {
        return Err(SandboxError::Load {
            reason: format!("one instance takes {units} slots, the pool has {slots}"),
        });
    }
    Ok(units)
}

fn check(raw: RawDefinition) -> Result<Definition, SandboxError> {
    let name = ToolName::parse(raw.name).map_err(|error| SandboxError::BadDefinitions(error.to_string()))?;
    let json = |what: &str, text: &str| {
        serde_json::from_str(text).map_err(|error| {
            SandboxError::BadDefinitions(format!("tool `{name}`: `{what}` is not JSON: {error}"))
        })
    };
    let [read_only, destructive, idempotent, open_world] = raw.hints;
    Ok(Definition {
        input_schema: json("input-schema", &raw.input_schema)?,
        output_schema: raw.output_schema.map(|schema| json("output-schema", &schema)).transpose()?,
        examples: raw.examples.iter().map(|example| json("examples", example)).collect::<Result<_, _>>()?,
        title: raw.title,
        description: raw.description,
        hints: Hints { read_only, destructive, idempotent, open_world },
        timeout_ms: raw.timeout_ms,
        name,
    })
}

/// A component with its grants opened, ready to be called.
#[derive(Clone)]
pub struct Prepared {
    core: Arc<Core>,
    digest: Digest,
    template: Arc<Template>,
    units: u32,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl Prepared {
    /// The digest of the component's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Calls one tool in a fresh instance and reports how it ended.
    ///
    /// The answer comes when the call ends or its deadline passes, whatever the guest does.
    /// Dropping the future stops the guest.
    pub async fn call(&self, request: CallRequest, services: Arc<dyn HostServices>) -> CallReport {
        self.submit(request, services, (Place::GuestThread, std::future::pending())).await
    }

    /// Like [`Prepared::call`]; when `cancel` ends first, the guest is stopped and the report has the outcome
    /// `cancelled` and says what was used.
    pub async fn call_until(
        &self,
        request: CallRequest,
        services: Arc<dyn HostServices>,
        cancel: impl Future<Output = ()>,
    ) -> CallReport {
        self.submit(request, services, (Place::GuestThread, cancel)).await
    }

    /// Like [`Prepared::call`], without changing threads: the caller must be on a guest thread,
    /// see [`Sandbox::on_guest_thread`](crate::Sandbox::on_guest_thread). The answer waits for the guest
    /// to let go of the thread.
    pub async fn call_here(&self, request: CallRequest, services: Arc<dyn HostServices>) -> CallReport {
        self.submit(request, services, (Place::Here, std::future::pending())).await
    }

    async fn submit(
        &self,
        request: CallRequest,
        services: Arc<dyn HostServices>,
        (place, cancel): (Place, impl Future<Output = ()>),
    ) -> CallReport {
        if request.component != self.digest {
            let message = format!("the call is for component {}, this is {}", request.component, self.digest);
            return CallReport::new(Outcome::Internal, message);
        }
        let bytes_in = u64::try_from(request.arguments.len()).unwrap_or(u64::MAX);
        let timeout = request.limits.timeout.min(request.remaining).min(MAX_TIMEOUT);
        let submission = Submission {
            template: Arc::clone(&self.template),
            units: self.units,
            call: request.call,
            principal: request.caller.principal,
            limits: CallLimits { timeout, ..request.limits },
            services,
            job: Job::Call(Request {
                tool: request.tool,
                arguments: request.arguments,
                idempotency_key: request.idempotency_key.map(String::from),
                session: request.caller.session.map(String::from),
            }),
            place,
        };
        let mut report = match self.core.submit(submission, cancel).await {
            Reply::Report(report) => *report,
            Reply::Definitions(_) => {
                CallReport::new(Outcome::Internal, "a call was answered with definitions")
            }
        };
        report.usage.bytes_in = bytes_in;
        report
    }
}

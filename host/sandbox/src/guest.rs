//! One guest from birth to death: a store, an instance, one call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hotcell_core::outcome::Phase;
use hotcell_core::services::HostServices;
use wasmtime::component::InstancePre;
use wasmtime::{Engine, Store, StoreContextMut, UpdateDeadline};

use crate::abi::{Abi, Input, RawDefinition, RawFailure, RawOutput};
use crate::call_state::{CallState, Stop, add_time};
use crate::grants::OpenGrants;
use crate::host::Host;

/// Fuel after which a guest gives the host a look at its meter. Without it the count of a stopped guest
/// is wrong by orders of magnitude, because the engine keeps it in a register while the guest computes.
/// A tight loop gets there in a quarter of a millisecond, so a turn also ends when the ticker is late.
const FUEL_YIELD: u64 = 250_000;

/// What a guest is asked to do.
#[derive(Debug)]
pub(crate) enum Job {
    /// Run a tool.
    Call(Request),
    /// Name its tools.
    Definitions,
}

/// The texts of one call.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) session: Option<String>,
}

/// How a guest ended.
#[derive(Debug)]
pub(crate) enum GuestEnd {
    /// The tool returned.
    Returned(Result<RawOutput, RawFailure>),
    /// The tools were named.
    Defined(Vec<RawDefinition>),
    /// The engine ended it.
    Failed { error: wasmtime::Error, stderr_tail: Option<String> },
}

/// What every guest of one component and grant set shares.
pub(crate) struct Template {
    pub(crate) engine: Engine,
    pub(crate) instance: InstancePre<Host>,
    pub(crate) abi: Abi,
    pub(crate) grants: OpenGrants,
}

/// Runs one guest; its store is gone when this returns.
pub(crate) async fn run(
    template: Arc<Template>,
    call: Arc<CallState>,
    services: Arc<dyn HostServices>,
    job: Job,
) -> GuestEnd {
    match run_in_store(&template, &call, &services, &job).await {
        Ok(end) => end,
        Err(error) => GuestEnd::Failed { error, stderr_tail: call.output.stderr_tail() },
    }
}

async fn run_in_store(
    template: &Arc<Template>,
    call: &Arc<CallState>,
    services: &Arc<dyn HostServices>,
    job: &Job,
) -> wasmtime::Result<GuestEnd> {
    let host = Host::new(call, services, template)?;
    let mut store = Store::new(&template.engine, host);
    arm(&mut store, call)?;
    let result = instantiate_and_call(template, call, &mut store, job).await;
    meter(call, store.get_fuel()?);
    result
}

/// Every budget is set before the first instruction runs: start functions are guest code too.
fn arm(store: &mut Store<Host>, call: &CallState) -> wasmtime::Result<()> {
    store.limiter(|host| &mut host.limiter);
    store.set_fuel(call.limits.fuel)?;
    store.fuel_async_yield_interval(Some(FUEL_YIELD))?;
    store.set_hostcall_fuel(usize::try_from(call.limits.hostcall_bytes).unwrap_or(usize::MAX));
    store.set_max_component_handles(usize::try_from(call.limits.component_handles).unwrap_or(usize::MAX));
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(tick);
    Ok(())
}

/// At every tick: look at the clock, publish the meter, make room for others.
#[expect(clippy::needless_pass_by_value, reason = "the signature the engine asks for")]
fn tick(store: StoreContextMut<'_, Host>) -> wasmtime::Result<UpdateDeadline> {
    let fuel = store.get_fuel()?;
    let call = &store.data().call;
    meter(call, fuel);
    if call.stopped().is_none() && Instant::now() >= call.deadline {
        call.stop(Stop::Deadline);
    }
    if call.stopped().is_some() {
        return Ok(UpdateDeadline::Interrupt);
    }
    Ok(UpdateDeadline::Yield(1))
}

fn meter(call: &CallState, fuel_left: u64) {
    call.meters.fuel.store(call.limits.fuel.saturating_sub(fuel_left), Ordering::Relaxed);
}

async fn instantiate_and_call(
    template: &Template,
    call: &Arc<CallState>,
    store: &mut Store<Host>,
    job: &Job,
) -> wasmtime::Result<GuestEnd> {
    call.set_phase(Phase::Instantiate);
    let begin = Instant::now();
    let instance = template.instance.instantiate_async(&mut *store).await;
    add_time(&call.meters.instantiate_ns, begin.elapsed());
    let instance = instance?;
    match job {
        Job::Call(request) => {
            call.set_phase(Phase::Call);
            let input = Input {
                tool: &request.tool,
                arguments: &request.arguments,
                call_id: call.id.as_str(),
                idempotency_key: request.idempotency_key.as_deref(),
                session: request.session.as_deref(),
            };
            Ok(GuestEnd::Returned(template.abi.call(store, &instance, input).await?))
        }
        Job::Definitions => {
            call.set_phase(Phase::Definitions);
            Ok(GuestEnd::Defined(template.abi.definitions(store, &instance).await?))
        }
    }
}

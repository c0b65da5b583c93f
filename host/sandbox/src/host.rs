//! What stands behind a guest's imports during one call.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_core::services::HostServices;
use rand_core::TryRng;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::call_state::CallState;
use crate::grants::OpenGrants;
use crate::guest::Template;
use crate::limiter::Limiter;
use crate::output;

/// The smallest step a guest's clocks show; finer ones help to spy on neighbours.
const CLOCK_STEP: Duration = Duration::from_millis(1);

/// The data of a store.
pub(crate) struct Host {
    pub(crate) call: Arc<CallState>,
    pub(crate) services: Arc<dyn HostServices>,
    pub(crate) limiter: Limiter,
    pub(crate) logged: u32,
    /// Made when the guest first asks for something of it: many tools never do, and it costs as much as a store.
    wasi: Option<Box<WasiCtx>>,
    template: Arc<Template>,
    table: ResourceTable,
}

impl Host {
    pub(crate) fn new(
        call: &Arc<CallState>,
        services: &Arc<dyn HostServices>,
        template: &Arc<Template>,
    ) -> wasmtime::Result<Self> {
        // Opening a directory can fail, and only here is somebody to tell.
        let wasi = if template.grants.has_directories() {
            Some(Box::new(context(call, services, &template.grants)?))
        } else {
            None
        };
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(call.limits.wasi_handles).unwrap_or(usize::MAX));
        Ok(Self {
            call: Arc::clone(call),
            services: Arc::clone(services),
            limiter: Limiter::new(Arc::clone(call)),
            logged: 0,
            wasi,
            template: Arc::clone(template),
            table,
        })
    }
}

fn context(
    call: &Arc<CallState>,
    services: &Arc<dyn HostServices>,
    grants: &OpenGrants,
) -> wasmtime::Result<WasiCtx> {
    let mut wasi = closed(call, services);
    grants.add_to(&mut wasi)?;
    Ok(wasi.build())
}

/// A context that reaches nothing but its own output, coarse clocks and randomness.
fn closed(call: &Arc<CallState>, services: &Arc<dyn HostServices>) -> WasiCtxBuilder {
    let mut seed = [0_u8; 16];
    services.random(&mut seed);
    let mut wasi = WasiCtx::builder();
    wasi.stdout(output::stdout(call))
        .stderr(output::stderr(call))
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .wall_clock(WallClock(Arc::clone(services)))
        .monotonic_clock(MonotonicClock(call.started))
        .secure_random(Random(Arc::clone(services)))
        .insecure_random(Random(Arc::clone(services)))
        .insecure_random_seed(u128::from_ne_bytes(seed))
        .max_random_size(call.limits.random_bytes);
    wasi
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self { wasi, call, services, template, table, .. } = self;
        let ctx = wasi.get_or_insert_with(|| {
            let mut wasi = closed(call, services);
            template.grants.add_env_to(&mut wasi);
            Box::new(wasi.build())
        });
        WasiCtxView { ctx, table }
    }
}

/// The time of day as the host services tell it, in steps of a millisecond.
struct WallClock(Arc<dyn HostServices>);

impl HostWallClock for WallClock {
    fn resolution(&self) -> Duration {
        CLOCK_STEP
    }

    fn now(&self) -> Duration {
        let now = self.0.wall_clock();
        Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Time since the call began, in steps of a millisecond.
struct MonotonicClock(Instant);

impl HostMonotonicClock for MonotonicClock {
    fn resolution(&self) -> u64 {
        u64::try_from(CLOCK_STEP.as_nanos()).unwrap_or(u64::MAX)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_mul(1_000_000)
    }
}

/// Randomness as the host services give it.
struct Random(Arc<dyn HostServices>);

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0_u8; 4];
        self.0.random(&mut bytes);
        Ok(u32::from_ne_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0_u8; 8];
        self.0.random(&mut bytes);
        Ok(u64::from_ne_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), Infallible> {
        self.0.random(buffer);
        Ok(())
    }
}

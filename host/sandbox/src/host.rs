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
use crate::limiter::Limiter;
use crate::output::Output;

/// The smallest step a guest's clocks show; finer ones help to spy on neighbours.
const CLOCK_STEP: Duration = Duration::from_millis(1);

/// The data of a store.
pub(crate) struct Host {
    pub(crate) call: Arc<CallState>,
    pub(crate) services: Arc<dyn HostServices>,
    pub(crate) limiter: Limiter,
    pub(crate) logged: u32,
    wasi: WasiCtx,
    table: ResourceTable,
}

impl Host {
    pub(crate) fn new(
        call: &Arc<CallState>,
        services: &Arc<dyn HostServices>,
        grants: &OpenGrants,
        output: &Arc<Output>,
    ) -> wasmtime::Result<Self> {
        let mut wasi = WasiCtx::builder();
        wasi.stdout(output.stdout())
            .stderr(output.stderr())
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false);
        clocks_and_randomness(&mut wasi, call, services);
        grants.add_to(&mut wasi)?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(call.limits.wasi_handles).unwrap_or(usize::MAX));
        Ok(Self {
            call: Arc::clone(call),
            services: Arc::clone(services),
            limiter: Limiter::new(Arc::clone(call)),
            logged: 0,
            wasi: wasi.build(),
            table,
        })
    }
}

fn clocks_and_randomness(wasi: &mut WasiCtxBuilder, call: &Arc<CallState>, services: &Arc<dyn HostServices>) {
    let mut seed = [0_u8; 16];
    services.random(&mut seed);
    wasi.wall_clock(WallClock(Arc::clone(services)))
        .monotonic_clock(MonotonicClock(call.started))
        .secure_random(Random(Arc::clone(services)))
        .insecure_random(Random(Arc::clone(services)))
        .insecure_random_seed(u128::from_ne_bytes(seed))
        .max_random_size(call.limits.random_bytes);
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
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

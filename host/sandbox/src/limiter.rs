//! Counts what an instance takes, summed over all of its memories and tables.
//!
//! The engine's own limiter looks at one memory at a time: twelve memories just below the limit pass it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wasmtime::{ResourceLimiter, Result};

use crate::call_state::CallState;

/// Allows or refuses growth for one call.
#[derive(Debug)]
pub(crate) struct Limiter {
    call: Arc<CallState>,
    memory_bytes: u64,
    table_elements: u64,
}

impl Limiter {
    pub(crate) fn new(call: Arc<CallState>) -> Self {
        Self { call, memory_bytes: 0, table_elements: 0 }
    }
}

fn grown(total: u64, current: usize, desired: usize) -> u64 {
    let added = u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX);
    total.saturating_add(added)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        let meters = &self.call.meters;
        let total = grown(self.memory_bytes, current, desired);
        // First the limit: the maximum is the smaller of the memory's own and of the pool's, and the pool's
        // is the largest limit, so looking at it first would hide that a limit was met.
        if total > self.call.limits.memory_bytes {
            meters.growth_refused.fetch_add(1, Ordering::Relaxed);
            meters.memory_refused.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        }
        // The guest's own maximum; the engine refuses the growth.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.memory_bytes = total;
        meters.peak_memory.fetch_max(total, Ordering::Relaxed);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        let meters = &self.call.meters;
        let total = grown(self.table_elements, current, desired);
        if total > u64::from(self.call.limits.table_elements) {
            meters.growth_refused.fetch_add(1, Ordering::Relaxed);
            meters.resource_refused.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        usize::try_from(self.call.limits.instances).unwrap_or(usize::MAX)
    }

    fn tables(&self) -> usize {
        usize::try_from(self.call.limits.tables).unwrap_or(usize::MAX)
    }

    fn memories(&self) -> usize {
        usize::try_from(self.call.limits.memories).unwrap_or(usize::MAX)
    }
}

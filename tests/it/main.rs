//! End-to-end and hostile tests against the real engine, real components and the real binary.

mod sandbox_cancel;
mod sandbox_grants;
mod sandbox_limits;
mod sandbox_preempts;
mod sandbox_results;
mod sandbox_soak;
mod sandbox_traps;

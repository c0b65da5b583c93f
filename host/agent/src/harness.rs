//! Driving a run in this process.

mod drive;
mod emitter;
mod layers;
mod outbound;
mod progress;
mod request;
mod result;
mod resume;
mod stream;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use hotcell_core::config::{Checks, ConfigErrors};
use hotcell_core::event::Hook;
use hotcell_core::middleware::Middleware;
use hotcell_core::model::Model;

use self::layers::Layers;
pub use self::request::RunRequest;
pub use self::result::{CallRecord, RunError, RunResult, RunWarning};
pub use self::resume::{PendingCall, PendingStatus, ResumeError, ResumeRequest, SuspendedRun};
pub use self::stream::{EventSender, Events, RunStream, event_channel};
use crate::clock::Clock;
use crate::machine::SetupError;
use crate::tool_set::ToolSet;

/// A model and a set of tools. It has no state of its own: any number of runs may share it.
#[derive(Clone)]
pub struct Harness {
    model: Arc<dyn Model>,
    tools: Arc<ToolSet>,
    /// The tools and the one that reads kept results, for runs that keep them.
    with_reader: Arc<ToolSet>,
    clock: Arc<dyn Clock>,
    config: HarnessConfig,
    layers: Layers,
    hooks: Arc<[Arc<dyn Hook>]>,
}

/// What all runs of a harness have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct HarnessConfig {
    /// What the operator tells the model; used by runs without a history.
    pub system: Option<String>,
    /// Most tokens of one reply; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature; `None` is left out of requests.
    pub temperature: Option<f64>,
    /// Calls of one batch that may run at a time; 1 runs them one after another.
    ///
    /// Results stand in call order either way.
    pub concurrent_calls: NonZeroUsize,
}

impl Default for HarnessConfig {
    fn default() -> Self {
        Self { system: None, max_output_tokens: None, temperature: None, concurrent_calls: NonZeroUsize::MIN }
    }
}

/// Longest system prompt in bytes, and most calls of a batch that may run at a time.
const MAX_SYSTEM_BYTES: usize = 1 << 20;
const MAX_CONCURRENT_CALLS: usize = 1_024;

impl HarnessConfig {
    /// Checks what the types leave open; a run of a harness that fails it does not start.
    ///
    /// # Errors
    /// Every field with a value that cannot be: a reply of no tokens, a temperature that is not from 0 to 2,
    /// a system prompt of more than 1 MiB, and more than 1,024 calls at a time.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let mut checks = Checks::default();
        let bytes = self.system.as_ref().map_or(0, String::len);
        checks.within("system", bytes, &(0..=MAX_SYSTEM_BYTES), "bytes");
        if let Some(tokens) = self.max_output_tokens {
            checks.within("max_output_tokens", tokens, &(1..=u32::MAX), "tokens");
        }
        if let Some(temperature) = self.temperature {
            checks.within("temperature", temperature, &(0.0..=2.0), "(a finite number)");
        }
        checks.within("concurrent_calls", self.concurrent_calls.get(), &(1..=MAX_CONCURRENT_CALLS), "calls");
        checks.finish()
    }
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness")
            .field("model", &self.model.name())
            .field("tools", &self.tools)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Harness {
    /// A harness of this model and these tools; nothing else is consulted.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, tools: Arc<ToolSet>, clock: Arc<dyn Clock>) -> Self {
        let with_reader = Arc::new(tools.with_reader());
        let config = HarnessConfig::default();
        Self { model, tools, with_reader, clock, config, layers: Layers::default(), hooks: Arc::default() }
    }

    /// The same harness with one more middleware, inside of those before it.
    #[must_use]
    pub fn with_middleware(mut self, middleware: Arc<dyn Middleware>) -> Self {
        self.layers = self.layers.and(middleware);
        self
    }

    /// The same harness with one more hook, told after those before it.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks = self.hooks.iter().cloned().chain([hook]).collect();
        self
    }

    /// The same harness with this configuration.
    #[must_use]
    pub fn with_config(mut self, config: HarnessConfig) -> Self {
        self.config = config;
        self
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> &Arc<ToolSet> {
        &self.tools
    }

    /// Runs from prompt to end. Dropping the future stops the model call and the tools.
    ///
    /// Whatever happens in the run, the result holds the whole transcript;
    /// [`RunResult::into_result`] turns every end that is not a good one into an error.
    ///
    /// # Errors
    /// [`SetupError`] when the run cannot start; nothing was asked of the model then.
    pub async fn run(&self, request: RunRequest) -> Result<RunResult, SetupError> {
        Ok(drive::run(self, request, None)?.await)
    }

    /// Like [`Harness::run`], as a stream of events with content, which drives the run when it is read.
    ///
    /// # Errors
    /// [`SetupError`] when the run cannot start.
    pub fn stream(&self, request: RunRequest) -> Result<RunStream<'_>, SetupError> {
        RunStream::of(|reader| drive::run(self, request, Some(reader)))
    }

    /// Goes on with a run that stands still, from its state, in this process or another one.
    ///
    /// Decisions are applied first; calls nobody has decided about are asked about again where there is
    /// an approver, and stay pending otherwise. The time the run stood still does not count.
    ///
    /// # Errors
    /// [`ResumeError`] when the run has ended or a decision is about no call that waits.
    pub async fn resume(&self, request: ResumeRequest) -> Result<RunResult, ResumeError> {
        Ok(drive::resume(self, request, None)?.await)
    }

    /// Like [`Harness::resume`], as a stream of events.
    ///
    /// # Errors
    /// As [`Harness::resume`].
    pub fn resume_stream(&self, request: ResumeRequest) -> Result<RunStream<'_>, ResumeError> {
        RunStream::of(|reader| drive::resume(self, request, Some(reader)))
    }
}

#[cfg(test)]
mod tests;

//! An agent: a model, its tools and the conversation they share.

mod blocking;
mod totals;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hotcell_agent::machine::SetupError;
use hotcell_agent::{
    Harness, HarnessConfig, MemoryResults, RunRequest, RunResult, SessionGrants, TokioClock, ToolSet,
    ToolSetError,
};
use hotcell_core::approval::Approver;
use hotcell_core::config::{Checks, ConfigErrors};
use hotcell_core::event::{EventSink, Hook};
use hotcell_core::ids::RunId;
use hotcell_core::limits::Limits;
use hotcell_core::message::Transcript;
use hotcell_core::middleware::Middleware;
use hotcell_core::model::{Model, ModelError};
use hotcell_core::results::ResultStore;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use self::blocking::BlockingRuntime;
pub use self::totals::Totals;

use crate::environment::random_id;
use crate::tools::{IntoOffers, OfferError};

/// A model with tools and a conversation that goes on from run to run.
///
/// One run at a time; what a run said is remembered when it has ended.
#[derive(Debug)]
pub struct Agent {
    harness: Harness,
    limits: Limits,
    approver: Option<Shared<dyn Approver>>,
    sink: Option<Shared<dyn EventSink>>,
    /// Results of earlier runs stay readable as long as the conversation goes on.
    results: Shared<dyn ResultStore>,
    session_grants: SessionGrants,
    conversation: Mutex<Conversation>,
    busy: AtomicBool,
    /// Fires when closing starts.
    closing: CancellationToken,
    was_closed: AtomicBool,
    /// Whether the model was built for this agent alone, which then closes it.
    owns_model: bool,
    blocking: BlockingRuntime,
}

/// What goes on from run to run.
#[derive(Debug, Default)]
struct Conversation {
    transcript: Transcript,
    totals: Totals,
}

/// An object behind a pointer, which has nothing to show.
struct Shared<T: ?Sized>(Arc<T>);

impl<T: ?Sized> std::fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

/// Says why an agent cannot be built or a run cannot start. Nothing was asked of the model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Values that cannot be, all of them.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// A tool cannot be offered.
    #[error(transparent)]
    Offer(#[from] OfferError),
    /// The tools do not make a set.
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    /// The run cannot start.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The agent is in the middle of another run.
    #[error("the agent is in the middle of another run; wait for it, or build a second agent")]
    Busy,
    /// The agent was closed.
    #[error("the agent is closed; build another one")]
    Closed,
    /// A run that blocks was asked for where a thread must not be blocked.
    #[error("a thread that serves async code cannot be blocked; await `run` instead of `run_blocking`")]
    Blocking,
    /// No runtime could be made for a run that blocks.
    #[error("no runtime can be made for a run that blocks")]
    Runtime(#[source] std::io::Error),
    /// The system gives no random numbers to make an id from.
    #[error("the system gives no random numbers: {0}")]
    Randomness(String),
}

impl Agent {
    /// Begins an agent of this model: without tools, with [`Limits::default`], and nobody to ask for approval.
    ///
    /// The model is the agent's own: [`Agent::close`] closes it.
    pub fn builder(model: impl Model + 'static) -> AgentBuilder {
        AgentBuilder { owns_model: true, ..Self::builder_shared(Arc::new(model)) }
    }

    /// Like [`Agent::builder`], of a model that is shared already and stays open.
    pub fn builder_shared(model: Arc<dyn Model>) -> AgentBuilder {
        AgentBuilder {
            model,
            owns_model: false,
            config: HarnessConfig::default(),
            offers: Ok(Vec::new()),
            limits: Limits::default(),
            approver: None,
            sink: None,
            results: None,
            middlewares: Vec::new(),
            hooks: Vec::new(),
        }
    }

    /// Runs from prompt to end, on top of the conversation so far.
    ///
    /// However the run ends, the result holds the whole transcript; `into_result` turns every end that is
    /// not a good one into an error. Dropping the future stops the model call and the tools, and the
    /// conversation stays as it was.
    ///
    /// # Errors
    /// The run cannot start, or another one is in progress.
    pub async fn run(&self, prompt: impl Into<String>) -> Result<RunResult, AgentError> {
        self.run_request(self.request(prompt)?).await
    }

    /// Like [`Agent::run`], for code that is not async: blocks the thread until the run has ended.
    ///
    /// # Errors
    /// As [`Agent::run`]; [`AgentError::Blocking`] on a thread that serves async code, where
    /// nothing is asked of the model.
    pub fn run_blocking(&self, prompt: impl Into<String>) -> Result<RunResult, AgentError> {
        self.blocking.block_on(self.run(prompt))?
    }

    /// Whether a run is in progress.
    #[must_use]
    pub fn busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Whether the agent was closed, or is being closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Closes the agent: a run in progress is cancelled and its result still arrives, later ones are
    /// refused, and a model that was built for this agent alone is closed. Everything that was given to it
    /// stays as it is. Closing again does nothing.
    ///
    /// It waits for the model and for nothing else.
    ///
    /// # Errors
    /// The model could not be closed; the agent is closed all the same.
    pub async fn close(&self) -> Result<(), ModelError> {
        self.closing.cancel();
        let first = !self.was_closed.swap(true, Ordering::AcqRel);
        if first && self.owns_model { self.harness.model().close().await } else { Ok(()) }
    }

    /// What all runs of the conversation used together.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner).totals.clone()
    }

    /// A request to this agent, with its limits, approver and sink, that continues its conversation; change it and
    /// give it to [`Agent::run_request`].
    ///
    /// # Errors
    /// The system gives no random numbers to make an id from.
    pub fn request(&self, prompt: impl Into<String>) -> Result<RunRequest, AgentError> {
        let id = random_id("run").map_err(AgentError::Randomness)?;
        let run = RunId::parse(id).expect("a word, a dash and hexadecimal digits satisfy the rules for ids");
        let mut request =
            RunRequest::new(run, prompt).history(&self.conversation()).limits(self.limits.clone());
        request.approver = self.approver.as_ref().map(|approver| Arc::clone(&approver.0));
        request.sink = self.sink.as_ref().map(|sink| Arc::clone(&sink.0));
        request.results = Some(Arc::clone(&self.results.0));
        request.session_grants = self.session_grants.clone();
        Ok(request)
    }

    /// Runs a request made by [`Agent::request`].
    ///
    /// # Errors
    /// As [`Agent::run`].
    pub async fn run_request(&self, mut request: RunRequest) -> Result<RunResult, AgentError> {
        if self.is_closed() {
            return Err(AgentError::Closed);
        }
        let _busy = Busy::take(&self.busy).ok_or(AgentError::Busy)?;
        request.cancel = request.cancel.child_token();
        let cancel = request.cancel.clone();
        let mut run = std::pin::pin!(self.harness.run(request));
        let result = tokio::select! {
            biased;
            result = &mut run => result,
            () = self.closing.cancelled() => {
                cancel.cancel();
                run.await
            }
        }?;
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        conversation.transcript = result.transcript.clone();
        conversation.totals.add(&result);
        Ok(result)
    }

    /// The conversation so far. Cloning it was cheap.
    #[must_use]
    pub fn conversation(&self) -> Transcript {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner).transcript.clone()
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> &Arc<ToolSet> {
        self.harness.tools()
    }
}

/// Held while a run is in progress.
struct Busy<'a>(&'a AtomicBool);

impl<'a> Busy<'a> {
    fn take(flag: &'a AtomicBool) -> Option<Self> {
        (!flag.swap(true, Ordering::AcqRel)).then_some(Self(flag))
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// An agent that is being put together.
#[must_use = "a builder does nothing until `build` is called"]
pub struct AgentBuilder {
    model: Arc<dyn Model>,
    owns_model: bool,
    config: HarnessConfig,
    offers: Result<Vec<hotcell_agent::Offer>, OfferError>,
    limits: Limits,
    approver: Option<Arc<dyn Approver>>,
    sink: Option<Arc<dyn EventSink>>,
    results: Option<Arc<dyn ResultStore>>,
    middlewares: Vec<Arc<dyn Middleware>>,
    hooks: Vec<Arc<dyn Hook>>,
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

impl AgentBuilder {
    /// What the operator tells the model before everything else.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.config.system = Some(text.into());
        self
    }

    /// Adds tools: a [`HostTool`](crate::HostTool), an [`Offer`](crate::Offer), a component, or several of them.
    pub fn tools(mut self, tools: impl IntoOffers) -> Self {
        if let Ok(offers) = &mut self.offers {
            match tools.into_offers() {
                Ok(more) => offers.extend(more),
                Err(error) => self.offers = Err(error),
            }
        }
        self
    }

    /// What caps each run.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Who is asked before a tool runs that needs an approval; without one such calls are denied.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Where the events of each run go.
    pub fn events(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Adds a middleware, inside of those before it.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middlewares.push(Arc::new(middleware));
        self
    }

    /// Adds a hook, told after those before it.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Where results go that are too large for the model; without one they stay in memory.
    pub fn results(mut self, results: Arc<dyn ResultStore>) -> Self {
        self.results = Some(results);
        self
    }

    /// What all runs have in common: the longest reply, the temperature, how many calls run at a time.
    ///
    /// Replaces what [`AgentBuilder::system`] set.
    pub fn config(mut self, config: HarnessConfig) -> Self {
        self.config = config;
        self
    }

    /// Checks everything and makes the agent.
    ///
    /// # Errors
    /// Every value of the configuration and the limits that cannot be, with its place; else a tool that
    /// cannot be offered, two tools of one name, or a schema that cannot be used.
    pub fn build(self) -> Result<Agent, AgentError> {
        let mut checks = Checks::default();
        checks.also(self.config.check());
        checks.also(self.limits.check());
        checks.finish()?;
        let tools = Arc::new(ToolSet::new(self.offers?)?);
        let harness = Harness::new(self.model, tools, Arc::new(TokioClock)).with_config(self.config);
        let harness = self.middlewares.into_iter().fold(harness, Harness::with_middleware);
        let harness = self.hooks.into_iter().fold(harness, Harness::with_hook);
        Ok(Agent {
            harness,
            limits: self.limits,
            approver: self.approver.map(Shared),
            sink: self.sink.map(Shared),
            results: Shared(self.results.unwrap_or_else(|| Arc::new(MemoryResults::default()))),
            session_grants: SessionGrants::default(),
            conversation: Mutex::default(),
            busy: AtomicBool::new(false),
            closing: CancellationToken::new(),
            was_closed: AtomicBool::new(false),
            owns_model: self.owns_model,
            blocking: BlockingRuntime::default(),
        })
    }
}

#[cfg(test)]
mod tests;

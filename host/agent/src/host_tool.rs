//! Rust closures as tools.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use hotcell_core::call::CallReport;
use hotcell_core::content::Block;
use hotcell_core::ids::{IdError, ToolName};
use hotcell_core::outcome::Outcome;
use hotcell_core::tool::{CallContext, Definition, Hints, Tool, ToolKind};
use serde_json::{Value, json};

type Handler = dyn Fn(CallContext, Value) -> BoxFuture<'static, CallReport> + Send + Sync;

/// A tool that is code of the embedding program.
///
/// The code is trusted: it has the whole process. Its timeout drops an async handler at the next
/// point where it waits; a blocking handler runs on a thread that nothing can stop from outside.
pub struct HostTool {
    definition: Definition,
    reaches_outside: bool,
    handler: Arc<Handler>,
}

impl fmt::Debug for HostTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTool").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

impl HostTool {
    /// Begins a tool that takes no arguments and is said to reach outside, so it asks unless the
    /// policy allows it.
    ///
    /// # Errors
    /// A name that model vendors do not accept.
    pub fn define(
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Result<HostToolBuilder, IdError> {
        Ok(HostToolBuilder {
            definition: Definition {
                name: ToolName::parse(name)?,
                title: None,
                description: description.into(),
                input_schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
                output_schema: None,
                hints: Hints::default(),
                timeout_ms: None,
                examples: Vec::new(),
            },
            reaches_outside: true,
        })
    }
}

/// A host tool without its handler yet.
#[derive(Debug, Clone)]
pub struct HostToolBuilder {
    definition: Definition,
    reaches_outside: bool,
}

impl HostToolBuilder {
    /// The JSON Schema of the arguments; what `schemars` generates for a type will do.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.definition.input_schema = schema;
        self
    }

    /// The JSON Schema of the structured result; results are held to it.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.definition.output_schema = Some(schema);
        self
    }

    /// The author's claims.
    #[must_use]
    pub fn hints(mut self, hints: Hints) -> Self {
        self.definition.hints = hints;
        self
    }

    /// How long a call may take, in milliseconds; the limits of the run can only shorten it.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u32) -> Self {
        self.definition.timeout_ms = Some(timeout_ms);
        self
    }

    /// Says that the tool reaches nothing outside of the call, so it runs without asking.
    #[must_use]
    pub fn pure(mut self) -> Self {
        self.reaches_outside = false;
        self
    }

    /// The handler, an async function of the arguments.
    pub fn handler<F, Fut, R>(self, handler: F) -> HostTool
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoReport,
    {
        self.handler_with_context(move |_context, arguments| handler(arguments))
    }

    /// The handler, an async function of the context and the arguments.
    pub fn handler_with_context<F, Fut, R>(self, handler: F) -> HostTool
    where
        F: Fn(CallContext, Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoReport,
    {
        self.build(Arc::new(move |context, arguments| {
            let answer = handler(context, arguments);
            Box::pin(async move { answer.await.into_report() })
        }))
    }

    /// The handler, a function that may block; it runs on a thread for blocking work.
    pub fn blocking<F, R>(self, handler: F) -> HostTool
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: IntoReport,
    {
        let handler = Arc::new(handler);
        self.build(Arc::new(move |_context, arguments| {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                let work = tokio::task::spawn_blocking(move || handler(arguments).into_report());
                match work.await {
                    Ok(report) => report,
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_cancelled) => CallReport::new(
                        Outcome::Internal,
                        "The program is shutting down; the tool did not run.",
                    ),
                }
            })
        }))
    }

    fn build(self, handler: Arc<Handler>) -> HostTool {
        HostTool { definition: self.definition, reaches_outside: self.reaches_outside, handler }
    }
}

impl Tool for HostTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Host
    }

    fn reaches_outside(&self) -> bool {
        self.reaches_outside
    }

    fn call<'a>(&'a self, ctx: &'a CallContext, arguments: &'a Value) -> BoxFuture<'a, CallReport> {
        (self.handler)(ctx.clone(), arguments.clone())
    }
}

/// What a handler may return.
pub trait IntoReport: Send + 'static {
    /// The report it stands for.
    fn into_report(self) -> CallReport;
}

impl IntoReport for CallReport {
    fn into_report(self) -> CallReport {
        self
    }
}

impl IntoReport for String {
    fn into_report(self) -> CallReport {
        CallReport::text(self)
    }
}

impl IntoReport for &'static str {
    fn into_report(self) -> CallReport {
        CallReport::text(self)
    }
}

/// A JSON value is the structured result, and the model reads it as JSON.
impl IntoReport for Value {
    fn into_report(self) -> CallReport {
        CallReport {
            content: vec![Block::Json { value: self.clone() }],
            structured: Some(self),
            ..CallReport::new(Outcome::Ok, "")
        }
    }
}

/// An error is the tool's own failure, in its own words.
impl<T: IntoReport, E: fmt::Display + Send + 'static> IntoReport for Result<T, E> {
    fn into_report(self) -> CallReport {
        match self {
            Ok(value) => value.into_report(),
            Err(error) => CallReport {
                guest_message: Some(error.to_string()),
                ..CallReport::new(Outcome::ToolError, "")
            },
        }
    }
}

#[cfg(test)]
mod tests;

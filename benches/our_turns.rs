//! Our loop under the bench's script.

use std::num::NonZeroU32;
use std::sync::Arc;

use anyhow::{Result, ensure};
use futures::stream::{self, BoxStream, StreamExt as _};
use hotcell_agent::scripted_model::{call_reply, text_reply};
use hotcell_agent::{Harness, HostTool, Offer, RunRequest, TokioClock, ToolSet};
use hotcell_core::ids::RunId;
use hotcell_core::limits::Limits;
use hotcell_core::model::{Model, ModelError, ModelEvent, ModelRequest};
use serde_json::json;

use crate::{Loop, Script};

/// Our loop; a run gets a harness of its own, which is made before its first turn.
pub(crate) struct Ours {
    tools: Arc<ToolSet>,
    limits: Limits,
}

impl Ours {
    pub(crate) fn new() -> Result<Self> {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        });
        let add = HostTool::define("add", "Adds two integers.")?.pure().input_schema(schema).handler(
            |arguments| async move {
                let number = |name: &str| arguments[name].as_i64().unwrap_or_default();
                (number("a") + number("b")).to_string()
            },
        );
        let limits = Limits {
            max_turns: None,
            max_tool_calls_per_turn: NonZeroU32::new(10_000).unwrap_or(NonZeroU32::MIN),
            ..Limits::default()
        };
        Ok(Self { tools: Arc::new(ToolSet::new([Offer::new(add, "")])?), limits })
    }
}

impl Loop for Ours {
    async fn play(&self, script: &Script) -> Result<()> {
        let model = Arc::new(Counts(script.clone()));
        let harness = Harness::new(model, Arc::clone(&self.tools), Arc::new(TokioClock));
        let request = RunRequest::new(RunId::parse("bench")?, "go").limits(self.limits.clone());
        let result = harness.run(request).await?;
        ensure!(result.ok(), "the run ended as {}", result.outcome());
        Ok(())
    }
}

/// A model that counts its requests and looks at nothing in them.
struct Counts(Script);

impl Model for Counts {
    fn name(&self) -> &str {
        "counts"
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        let reply = match self.0.next() {
            Some(ids) => call_reply(ids.iter().map(|id| (id.as_str(), "add", r#"{"a":1,"b":2}"#))),
            None => text_reply("done"),
        };
        stream::once(std::future::ready(Ok(ModelEvent::Reply(reply)))).boxed()
    }
}

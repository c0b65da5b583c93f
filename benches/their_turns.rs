//! The loop of rig under the bench's script: a wire of our own whose frames are whole replies.

use std::marker::PhantomData;

use anyhow::{Result, ensure};
use futures::stream;
use rig_agent::AgentBuilder;
use rig_agent::core::completion::options::{Mapping, OptionFields, OptionMap};
use rig_agent::core::completion::{Accepts, CompletionRequest, FinishReason, ReplayTarget, Usage};
use rig_agent::core::driver::{Exchange, Model, Opened, Opening, Transport};
use rig_agent::core::error::{EncodeError, ProviderError};
use rig_agent::core::message::{Api, ToolName};
use rig_agent::core::operation::{Block, CallFragment, Completion, Finish};
use rig_agent::core::tool::{DynamicTool, ToolOutput};
use rig_agent::core::wire::document::{Reassemble, Serves};
use rig_agent::core::wire::{Decoder, Descriptor, Flow, Mode, Out, Wire, WireEvent};
use serde_json::{Value, json};

use crate::{Loop, Script};

/// Their loop; a run gets an agent of its own, which is made before its first turn.
pub(crate) struct Theirs;

impl Loop for Theirs {
    async fn play(&self, script: &Script) -> Result<()> {
        let agent = AgentBuilder::new(Model::new(Scripted, Plays(script.clone())).erase())
            .dynamic_tool(add()?)
            .default_max_turns(script.turns + 1)
            .build();
        let response = agent.prompt("go").await?;
        ensure!(response.output() == "done", "the run answered `{}`", response.output());
        Ok(())
    }
}

fn add() -> Result<DynamicTool> {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    });
    let name = ToolName::new("add")?;
    Ok(DynamicTool::new(name, "Adds two integers.", schema, |arguments| {
        Box::pin(async move {
            let number = |name: &str| arguments[name].as_i64().unwrap_or_default();
            Ok(ToolOutput::text((number("a") + number("b")).to_string()))
        })
    }))
}

/// One whole reply: the ids of its calls, or none for the answer.
type Reply = Option<Vec<String>>;

/// What carries the replies: it counts the requests and looks at nothing in them.
#[derive(Clone)]
struct Plays(Script);

impl Transport<Scripted> for Plays {
    fn send(&self, _request: CompletionRequest, _exchange: Exchange) -> Opening<Reply> {
        let opened = Opened::new(stream::iter([Ok(self.0.next())]));
        // With a document of its own the reply is not put together a second time.
        Opening::ready(opened.with_document(Value::Null))
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Scripted;

impl Wire for Scripted {
    type Op = Completion;
    type Payload = CompletionRequest;
    type Frame = Reply;
    type Decoder<'id> = Reads<'id>;
    type Reassembler = NoDocument;

    fn describe(&self) -> Descriptor<'_> {
        Descriptor::new("scripted").replay(self)
    }

    fn encode(&self, request: CompletionRequest, _mode: Mode) -> Result<CompletionRequest, EncodeError> {
        Ok(request)
    }

    fn decoder<'id>(&self) -> Reads<'id> {
        Reads(PhantomData)
    }
}

struct Reads<'id>(PhantomData<fn(&'id ()) -> &'id ()>);

impl<'id> Decoder<'id, Completion, Reply> for Reads<'id> {
    type Event = Reply;

    fn classify(&self, reply: Reply) -> WireEvent<Reply> {
        WireEvent::Known(reply)
    }

    fn decode(&mut self, reply: Reply, mut out: Out<'id, Completion>) -> Result<Flow, ProviderError> {
        let reason = match reply {
            Some(ids) => {
                for (index, id) in ids.iter().enumerate() {
                    let (name, arguments) = (Some("add"), Some(r#"{"a":1,"b":2}"#));
                    out.fragment(Some(index), CallFragment { id: Some(id), name, arguments })?;
                }
                FinishReason::ToolCalls
            }
            None => {
                out.run(Block::Text, "done")?;
                out.end_run()?;
                FinishReason::Stop
            }
        };
        out.finish_open()?;
        Ok(out.end(Finish { usage: Usage::default(), reason: Some(reason), ..Finish::default() }))
    }
}

#[derive(Default)]
struct NoDocument;

impl Serves<Completion> for NoDocument {}

impl Reassemble<Reply> for NoDocument {
    fn absorb(&mut self, _frame: &Reply) {}

    fn finish(self) -> Value {
        Value::Null
    }
}

impl ReplayTarget for Scripted {
    fn api(&self) -> Api {
        Api::from_static("bench.scripted")
    }

    fn provider(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> &str {
        "counts"
    }

    fn accepts(&self, _model: &str) -> Accepts {
        Accepts::ALL
    }

    fn map_options(&self, _request: &CompletionRequest, fields: OptionFields<'_>) -> OptionMap {
        let ignored = |set: bool| if set { Mapping::Omit("the script ignores it") } else { Mapping::Nothing };
        OptionMap {
            reasoning: ignored(fields.reasoning.is_some()),
            cache: ignored(fields.cache.is_some()),
            service_tier: ignored(fields.service_tier.is_some()),
            verbosity: ignored(fields.verbosity.is_some()),
            parallel_tool_calls: ignored(fields.parallel_tool_calls.is_some()),
            top_p: ignored(fields.top_p.is_some()),
            seed: ignored(fields.seed.is_some()),
            stop: ignored(!fields.stop.is_empty()),
        }
    }
}

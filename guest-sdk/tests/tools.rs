//! Tools as an author writes them, called as a host calls them.

#![expect(clippy::unwrap_used, reason = "a test may fail that way")]

use std::borrow::Borrow;
use std::fmt;
use std::time::Duration;

use hotcell_tool::testing::{self, Call, LogRecord, ProgressReport};
use hotcell_tool::{Block, Context, Failure, Fault, Hints, Output, control, log, progress, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct CountArgs {
    /// The text to count in.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Counts {
    lines: usize,
    words: usize,
}

/// Count lines and words of a text.
///
/// Words are separated by white space.
#[tool(
    read_only,
    idempotent,
    destructive = false,
    title = "Count words",
    timeout = "5s",
    example = r#"{"text": "a b"}"#
)]
fn count(args: CountArgs) -> Result<Counts, Failure> {
    if args.text.is_empty() {
        return Err(Failure::invalid_input("the text is empty").code("empty").advice("send some text"));
    }
    Ok(Counts { lines: args.text.lines().count(), words: args.text.split_whitespace().count() })
}

/// Add two numbers.
#[tool(open_world = false)]
fn add(
    /// The first number.
    a: i64,
    #[serde(default)]
    #[schemars(range(min = 0))]
    b: u32,
) -> i64 {
    a + i64::from(b)
}

/// Greet somebody.
#[tool(name = "say-hello")]
fn greet(
    /// Who is greeted.
    name: String,
    context: &Context,
) -> String {
    format!("Hello, {name}! ({})", context.call_id())
}

/// Do nothing.
#[tool]
fn nothing() {}

/// Return the arguments; the name is one that generated code could use itself.
#[tool]
fn text(text: String, context: &Context) -> String {
    format!("{text} {}", context.call_id())
}

/// Return a number; so is this one.
#[tool]
fn arguments(value: u8, returned: u8) -> u8 {
    value + returned
}

/// Return pieces.
#[tool]
fn pieces() -> Result<Output, Failure> {
    Output::text("one").blob("image/png", *b"\x89PNG").link("https://example.org/").json(&[1])?.structured(&2)
}

/// Say something that never changes.
#[tool]
fn constant() -> &'static str {
    "always"
}

/// An error of the author's own, which knows its fault.
#[derive(Debug)]
struct Busy(u64);

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "busy for {} seconds", self.0)
    }
}

impl From<Busy> for Failure {
    fn from(busy: Busy) -> Self {
        Self::unavailable(busy.to_string()).retry_after(Duration::from_secs(busy.0))
    }
}

/// The author's own name for a result; the macro looks at the type, not at the word.
type Answer<T> = Result<T, Busy>;

/// Fail with an error of the author's own.
#[tool]
fn busy(seconds: Option<u64>) -> Answer<()> {
    match seconds {
        None => Ok(()),
        Some(seconds) => Err(Busy(seconds)),
    }
}

/// Work in steps.
#[tool]
fn steps() -> String {
    let mut done = 0;
    while done < 3 && !control::cancelled() && control::remaining() > Duration::from_millis(10) {
        done += 1;
        progress::report_with(done, Some(3), "step");
    }
    progress::report(done, None);
    log::write(log::Level::Info, "stopped", &[("done", &done.to_string())]);
    log::warn("bye");
    format!("{done} steps")
}

mod words {
    /// Turn a text around.
    #[hotcell_tool::tool(read_only)]
    pub(crate) fn r#move(r#type: String) -> String {
        r#type.chars().rev().collect()
    }
}

hotcell_tool::component!(
    count,
    add,
    greet,
    nothing,
    pieces,
    constant,
    busy,
    steps,
    words::r#move,
    text,
    arguments
);

fn call(tool: &str, arguments: impl Borrow<Value>) -> Result<Output, Failure> {
    testing::call(&TOOLS, tool, arguments.borrow())
}

fn definition(tool: &str) -> hotcell_tool::Definition {
    testing::definitions(&TOOLS).into_iter().find(|definition| definition.name == tool).unwrap()
}

#[test]
fn definitions_stand_in_the_order_of_the_list() {
    let names: Vec<_> = testing::definitions(&TOOLS).into_iter().map(|definition| definition.name).collect();
    assert_eq!(
        names,
        [
            "count",
            "add",
            "say-hello",
            "nothing",
            "pieces",
            "constant",
            "busy",
            "steps",
            "move",
            "text",
            "arguments"
        ]
    );
}

#[test]
fn a_definition_holds_what_the_author_wrote() {
    let count = definition("count");
    assert_eq!(count.description, "Count lines and words of a text.\n\nWords are separated by white space.");
    assert_eq!(count.title.as_deref(), Some("Count words"));
    assert_eq!(count.timeout, Some(Duration::from_secs(5)));
    assert_eq!(count.examples, [r#"{"text": "a b"}"#]);
    assert_eq!(
        count.hints,
        Hints { read_only: Some(true), destructive: Some(false), idempotent: Some(true), open_world: None }
    );
    assert_eq!(
        count.input_schema,
        json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text to count in."}},
            "required": ["text"],
        })
    );
    let output = count.output_schema.unwrap();
    assert_eq!(output["required"], json!(["lines", "words"]));
    assert_eq!(definition("nothing").output_schema, None);
    assert_eq!(definition("constant").output_schema, None);
    assert_eq!(definition("add").output_schema, Some(json!({"type": "integer", "format": "int64"})));
}

#[test]
fn plain_parameters_become_a_closed_object() {
    assert_eq!(
        definition("add").input_schema,
        json!({
            "type": "object",
            "properties": {
                "a": {"type": "integer", "format": "int64", "description": "The first number."},
                "b": {"type": "integer", "format": "uint32", "minimum": 0, "default": 0},
            },
            "required": ["a"],
            "additionalProperties": false,
        })
    );
    assert_eq!(
        definition("nothing").input_schema,
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
    let greet = definition("say-hello").input_schema;
    assert_eq!(greet["properties"], json!({"name": {"type": "string", "description": "Who is greeted."}}));
    assert_eq!(definition("move").input_schema["required"], json!(["type"]));
}

#[test]
fn results_are_shaped_by_their_type() {
    assert_eq!(
        call("count", json!({"text": "a b\nc"})).unwrap().structured_text(),
        Some(r#"{"lines":2,"words":3}"#)
    );
    assert_eq!(call("add", json!({"a": -1, "b": 3})).unwrap().structured_text(), Some("2"));
    assert_eq!(call("add", json!({"a": -1})).unwrap().structured_text(), Some("-1"));
    assert_eq!(call("say-hello", json!({"name": "Ada"})).unwrap(), Output::text("Hello, Ada! (test)"));
    assert_eq!(call("nothing", json!({})).unwrap(), Output::new());
    assert_eq!(call("constant", json!({})).unwrap(), Output::text("always"));
    assert_eq!(call("text", json!({"text": "a"})).unwrap(), Output::text("a test"));
    assert_eq!(call("arguments", json!({"value": 1, "returned": 2})).unwrap().structured_text(), Some("3"));
    assert_eq!(call("busy", json!({})).unwrap(), Output::new());
    assert_eq!(call("move", json!({"type": "abc"})).unwrap().to_text(), "cba");
    let pieces = call("pieces", json!({})).unwrap();
    assert_eq!(pieces.structured_text(), Some("2"));
    assert_eq!(
        pieces.blocks(),
        [
            Block::Text("one".into()),
            Block::Blob { media_type: "image/png".into(), bytes: b"\x89PNG".to_vec() },
            Block::Link { uri: "https://example.org/".into(), media_type: None, title: None },
            Block::Json("[1]".into()),
        ]
    );
}

#[test]
fn failures_keep_their_fault() {
    assert_eq!(
        call("count", json!({"text": ""})).unwrap_err(),
        Failure::invalid_input("the text is empty").code("empty").advice("send some text")
    );
    assert_eq!(
        call("busy", json!({"seconds": 3})).unwrap_err(),
        Failure::unavailable("busy for 3 seconds").retry_after(Duration::from_secs(3))
    );
}

#[test]
fn wrong_arguments_are_named_by_their_path() {
    let table = [
        (
            "count",
            json!({"text": 1}),
            "argument `text` does not fit: invalid type: integer `1`, expected a string",
        ),
        ("count", json!({}), "the arguments do not fit: missing field `text`"),
        ("add", json!({"a": "x"}), "argument `a` does not fit: invalid type: string \"x\", expected i64"),
        (
            "add",
            json!({"a": 1, "b": -1}),
            "argument `b` does not fit: invalid value: integer `-1`, expected u32",
        ),
        ("nothing", json!({"x": 1}), "argument `x` does not fit: unknown field `x`, there are no fields"),
        ("nothing", json!([1]), "the arguments are not an object"),
    ];
    for (tool, arguments, expected) in table {
        let failure = call(tool, &arguments).unwrap_err();
        assert!(failure.message.starts_with(expected), "{arguments}: {}", failure.message);
        assert_eq!((failure.fault, failure.code.as_deref()), (Fault::InvalidInput, Some("arguments")));
    }
    let broken = Call::with_text(&TOOLS, "add", "{\"a\": ").run().result.unwrap_err();
    assert!(broken.message.starts_with("the arguments are not JSON: "), "{}", broken.message);
}

#[test]
fn an_unknown_tool_is_not_found_and_the_known_ones_are_named() {
    let failure = call("cuont", json!({})).unwrap_err();
    assert_eq!((failure.fault, failure.code.as_deref()), (Fault::NotFound, Some("unknown_tool")));
    assert_eq!(failure.message, "this component has no tool `cuont`");
    assert!(failure.advice.unwrap().starts_with("call one of: count, add, say-hello"));
}

#[test]
fn a_call_sees_its_end_and_leaves_notes_and_progress() {
    let called = Call::new(&TOOLS, "steps", &json!({})).run();
    assert_eq!(called.result.unwrap().to_text(), "3 steps");
    let step = |done| (done, Some(3), Some("step".to_owned()));
    let reports: Vec<_> = called
        .progress
        .into_iter()
        .map(|ProgressReport { done, total, note, .. }| (done, total, note))
        .collect();
    assert_eq!(reports, [step(1), step(2), step(3), (3, None, None)]);
    let notes: Vec<_> = called
        .logs
        .into_iter()
        .map(|LogRecord { level, message, fields, .. }| (level, message, fields))
        .collect();
    assert_eq!(
        notes,
        [
            (log::Level::Info, "stopped".to_owned(), vec![("done".to_owned(), "3".to_owned())]),
            (log::Level::Warn, "bye".to_owned(), Vec::new()),
        ]
    );

    let called = Call::new(&TOOLS, "steps", &json!({})).cancelled().run();
    assert_eq!(called.result.unwrap().to_text(), "0 steps");
    let called = Call::new(&TOOLS, "steps", &json!({})).remaining(Duration::from_millis(5)).run();
    assert_eq!(called.result.unwrap().to_text(), "0 steps");
    let context =
        Context::new("call-7").with_idempotency_key("k").with_session("s").with_attribute("a:b", "1");
    let called = Call::new(&TOOLS, "say-hello", &json!({"name": "Ada"})).context(context).run();
    assert_eq!(called.result.unwrap().to_text(), "Hello, Ada! (call-7)");
}

#[test]
fn tools_can_still_be_called_as_functions() {
    assert_eq!(add(1, 2), 3);
    assert_eq!(greet("Ada".into(), &Context::new("x")), "Hello, Ada! (x)");
    assert_eq!(steps(), "3 steps");
}

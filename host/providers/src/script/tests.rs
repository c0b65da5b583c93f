use futures::executor::block_on;
use hotcell_core::content::Block;
use hotcell_core::model::{ReplyStop, ToolChoice};
use hotcell_core::outcome::Outcome;
use serde_json::{Value, json};

use super::*;

fn result(outcome: Option<Outcome>, content: Vec<Block>) -> Message {
    Message::Tool { call_id: "x".into(), name: "query".into(), outcome, content }
}

fn said(calls: &[ToolCall]) -> Message {
    Message::Assistant { text: None, calls: calls.to_vec() }
}

/// A conversation with two tool results and one reply before them.
fn conversation() -> Transcript {
    let rows = json!({
        "rows": [{"total": 1250.5, "name": "Ada"}, {"total": 1200.0, "name": null}],
        "count": 2, "flag": true, "odd key": {"a.b": [1]}, "empty": [],
    });
    let call = |id: &str| ToolCall { id: id.into(), name: "query".into(), arguments: "{}".into() };
    [
        Message::user("go"),
        said(&[call("call_1"), call("call_2")]),
        result(Some(Outcome::Ok), vec![Block::text("two rows"), Block::Json { value: rows }]),
        result(Some(Outcome::Fuel), vec![Block::text("error: fuel"), Block::text("use less")]),
    ]
    .into_iter()
    .collect()
}

/// What the second line of a script comes to after [`conversation`].
fn second_line(line: &str) -> Result<ModelReply, ModelError> {
    let text = format!("{{\"text\": \"first\"}}\n\n# comment\n   {line}\n");
    ScriptFile::parse(&text, "s.jsonl").unwrap().reply(&conversation())
}

fn args(template: &Value) -> Value {
    let line = json!({"calls": [{"name": "t", "args": template}]}).to_string();
    serde_json::from_str(&second_line(&line).unwrap().calls[0].arguments).unwrap()
}

#[test]
fn a_string_that_is_one_path_keeps_the_type_of_the_value() {
    let cases = [
        ("{{calls[0].structured.rows[0].total}}", json!(1250.5)),
        ("{{ calls[0].structured.rows[1].total }}", json!(1200.0)),
        ("{{calls[0].structured.count}}", json!(2)),
        ("{{calls[0].structured.flag}}", json!(true)),
        ("{{calls[0].structured.rows[1].name}}", json!(null)),
        ("{{calls[0].structured[\"odd key\"][\"a.b\"]}}", json!([1])),
        ("{{calls[-1].outcome}}", json!("fuel")),
        ("{{calls[-1].text}}", json!("error: fuel\nuse less")),
        ("{{calls[-1].structured}}", json!(null)),
        ("{{calls[-2].ok}}", json!(true)),
        ("{{calls[1].ok}}", json!(false)),
        ("{{calls[0].name}}", json!("query")),
        ("no path } } { {", json!("no path } } { {")),
    ];
    for (template, expected) in cases {
        assert_eq!(args(&json!([{"k": template}])), json!([{"k": expected}]), "{template}");
    }
}

#[test]
fn inside_of_longer_strings_values_are_printed_plainly() {
    let text = "{{calls[0].structured.rows[0].name}}: {{calls[0].structured.rows[0].total}}, \
                {{calls[0].structured.rows[1].total}} of {{calls[0].structured.count}}, \
                {{calls[0].structured.flag}} {{calls[0].structured.rows[1].name}} {{calls[0].structured.empty}}";
    let expected = "Ada: 1250.5, 1200 of 2, true null []";
    let line = json!({"text": text, "calls": [{"name": "t", "args": {"note": text}}]}).to_string();
    let reply = second_line(&line).unwrap();
    assert_eq!(reply.text.as_deref(), Some(expected));
    assert_eq!(reply.calls[0].arguments, json!({"note": expected}).to_string());
    // A text is a text, also when it is one path to a number.
    let reply = second_line(r#"{"text": "{{calls[0].structured.count}}"}"#).unwrap();
    assert_eq!(reply.text.as_deref(), Some("2"));
}

#[test]
fn what_a_tool_returned_is_never_read_as_a_path() {
    let transcript: Transcript =
        [said(&[]), result(Some(Outcome::Ok), vec![Block::text("{{calls[9].text}}")])].into_iter().collect();
    let script = "{\"text\": \"a\"}\n{\"text\": \"<{{calls[0].text}}>\"}";
    let reply = ScriptFile::parse(script, "s.jsonl").unwrap().reply(&transcript).unwrap();
    assert_eq!(reply.text.as_deref(), Some("<{{calls[9].text}}>"));
}

#[test]
fn a_text_that_is_json_is_the_structured_result_unless_the_call_failed() {
    let reply = |outcome, text: &str, path: &str| {
        let transcript: Transcript =
            [said(&[]), result(Some(outcome), vec![Block::text(text)])].into_iter().collect();
        let script = format!("{{\"text\": \"a\"}}\n{{\"text\": \"{{{{calls[0].structured{path}}}}}\"}}");
        ScriptFile::parse(&script, "s.jsonl").unwrap().reply(&transcript).unwrap().text.unwrap()
    };
    assert_eq!(reply(Outcome::Ok, "{\"sum\": 7}", ".sum"), "7");
    assert_eq!(reply(Outcome::Ok, "7.5", ""), "7.5");
    assert_eq!(reply(Outcome::Ok, "seven", ""), "null");
    assert_eq!(reply(Outcome::ToolError, "7.5", ""), "null");
}

#[test]
fn ids_and_stop_reasons_are_deterministic() {
    let reply = second_line(r#"{"calls": [{"name": "a"}, {"name": "b", "args": {"x": 1}}]}"#).unwrap();
    let calls: Vec<_> =
        reply.calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
    assert_eq!(calls, [("call_3", "a", "{}"), ("call_4", "b", r#"{"x":1}"#)]);
    assert_eq!((reply.stop, reply.text), (ReplyStop::ToolUse, None));
    assert_eq!(second_line(r#"{"text": "x"}"#).unwrap().stop, ReplyStop::EndTurn);
    for (word, stop) in [("max_tokens", ReplyStop::MaxTokens), ("refusal", ReplyStop::Refusal)] {
        let line = json!({"text": "x", "stop": word}).to_string();
        assert_eq!(second_line(&line).unwrap().stop, stop);
    }
}

#[test]
fn a_path_that_leads_nowhere_says_how_far_it_led_and_what_is_there() {
    let cases = [
        ("calls[2].text", "`calls[2]` does not exist: 2 tool results exist, `calls[0]` to `calls[1]`"),
        ("calls[-3]", "`calls[-3]` does not exist: 2 tool results exist, `calls[0]` to `calls[1]`"),
        (
            "calls[0].structured.rows[2].total",
            "`calls[0].structured.rows[2]` does not exist: `calls[0].structured.rows` is an array with 2 elements, \
             [0] to [1]",
        ),
        (
            "calls[0].structured.row",
            "`calls[0].structured.row` does not exist: `calls[0].structured` is an object with the keys `rows`, \
             `count`, `flag`, `odd key`, `empty`",
        ),
        (
            "calls[0].structured.count.x",
            "`calls[0].structured.count.x` does not exist: `calls[0].structured.count` is 2",
        ),
        (
            "calls[0].structured.empty[0]",
            "`calls[0].structured.empty[0]` does not exist: `calls[0].structured.empty` is an empty array",
        ),
        (
            "calls[1].structured.rows",
            "`calls[1].structured.rows` does not exist: `calls[1].structured` is null",
        ),
    ];
    for (path, expected) in cases {
        let error = second_line(&json!({ "text": format!("{{{{{path}}}}}") }).to_string()).unwrap_err();
        assert_eq!(error.to_string(), format!("script: `s.jsonl`, line 4: {expected}"));
    }
    let script = ScriptFile::parse(r#"{"text": "{{calls[0].text}}"}"#, "s.jsonl").unwrap();
    let error = script.reply(&Transcript::new()).unwrap_err().to_string();
    assert_eq!(error, "script: `s.jsonl`, line 1: `calls[0]` does not exist: no tool result exists yet");
}

#[test]
fn a_script_with_no_line_left_names_the_file_and_its_count() {
    let script = ScriptFile::parse(r#"{"text": "only"}"#, "s.jsonl").unwrap();
    assert_eq!(
        script.reply(&conversation()).unwrap_err(),
        ModelError::Script {
            message:
                "`s.jsonl` has 1 replies and the model was asked once more; add a line, or end with one \
                      without calls"
                    .into()
        }
    );
}

#[test]
fn a_wrong_script_is_refused_with_file_and_line() {
    let cases = [
        ("", "expected at least one reply, such as `{\"text\": \"Hello.\"}`, found none"),
        ("{}", "expected `text`, `calls` or both, found neither"),
        ("{\"text\": 1}", "invalid type: integer `1`, expected a string (column 10)"),
        ("{\"text\": \"a\"", "EOF while parsing an object (column 12)"),
        ("[\"a\", [], null]", "expected a JSON object, found `[\"a\", [], null]`"),
        ("Hello", "expected a JSON object, found `Hello`"),
        ("{\"calls\": [[\"a\"]]}", "call 0: expected a JSON object, found `[\"a\"]`"),
        ("{\"calls\": [{\"name\": \"a\", \"name\": \"b\"}]}", "call 0: duplicate field `name` (column 20)"),
        (
            "{\"text\": \"a\", \"cals\": []}",
            "unknown field `cals`, expected one of `text`, `calls`, `stop` (column 20)",
        ),
        ("{\"calls\": [{\"args\": {}}]}", "call 0: missing field `name` (column 12)"),
        ("{\"calls\": [{\"name\": \"\"}]}", "call 0: the name is empty"),
        (
            "{\"calls\": [{\"name\": \"a\", \"arg\": {}}]}",
            "call 0: unknown field `arg`, expected `name` or `args` (column 19)",
        ),
        (
            "{\"text\": \"a\", \"stop\": \"done\"}",
            "`stop`: expected one of `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `refusal`, `safety`, \
             `pause_turn`, found `done`",
        ),
        ("{\"text\": \"{{calls[0].text\"}", "`{{calls[0].text` has no `}}` at its end"),
    ];
    for (line, expected) in cases {
        let text = format!("# first\n\n{line}\n");
        let error = ScriptFile::parse(&text, "s.jsonl").unwrap_err();
        let number = if line.is_empty() { 1 } else { 3 };
        assert_eq!(error.to_string(), format!("script `s.jsonl`, line {number}: {expected}"), "{line}");
    }
}

#[test]
fn a_wrong_path_is_refused_when_the_script_is_read() {
    for (path, why) in [
        ("", "it does not start with `calls[`"),
        ("call[0]", "it does not start with `calls[`"),
        ("calls[0", "a `]` is missing"),
        ("calls[x].text", "invalid digit found in string"),
        ("calls[0]text", "after a value comes `.` or `[`"),
        ("calls[0]..a", "a key after `.` has letters, digits, `_` and `-`; write others as `[\"...\"]`"),
        ("calls[0].a b", "a key after `.` has letters, digits, `_` and `-`; write others as `[\"...\"]`"),
        ("calls[0].a[-1]", "an index is a whole number from 0"),
        ("calls[0][\"a]", "a quoted key is not closed"),
        ("calls[0][\"a\"x]", "a `]` is missing"),
    ] {
        for line in [
            json!({ "text": format!("a {{{{{path}}}}}") }),
            json!({"calls": [{"name": "t", "args": {"deep": [{"x": format!("{{{{{path}}}}}")}]}}]}),
        ] {
            let error = ScriptFile::parse(&line.to_string(), "s.jsonl").unwrap_err();
            assert_eq!(error.line, 1);
            assert_eq!(
                error.message,
                format!(
                    "`{{{{{path}}}}}` is not a path: {why}; expected one such as \
                     `{{{{calls[0].structured.rows[0].total}}}}`"
                )
            );
        }
    }
}

#[test]
fn scripts_and_replies_have_a_largest_size() {
    let long = " ".repeat(MAX_SCRIPT_BYTES + 1);
    assert!(ScriptFile::parse(&long, "s.jsonl").unwrap_err().message.contains("at most 1048576"));
    let big = Block::text("x".repeat(MAX_SCRIPT_REPLY_BYTES / 2));
    let transcript: Transcript = [said(&[]), result(Some(Outcome::Ok), vec![big])].into_iter().collect();
    let script = "{\"text\": \"a\"}\n{\"text\": \"{{calls[0].text}}{{calls[0].text}}{{calls[0].text}}\"}";
    let error = ScriptFile::parse(script, "s.jsonl").unwrap().reply(&transcript).unwrap_err().to_string();
    assert!(error.contains("more than 4194304 bytes"), "{error}");
}

#[test]
fn the_model_yields_one_reply_and_goes_on_where_the_conversation_is() {
    let script = ScriptFile::parse("{\"text\": \"one\"}\n{\"text\": \"two\"}", "s.jsonl").unwrap();
    let request = |transcript: Transcript| ModelRequest {
        transcript,
        tools: [].into(),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        temperature: None,
    };
    let ask = |transcript| block_on(script.stream(request(transcript)).collect::<Vec<_>>());
    let text = |events: Vec<Result<ModelEvent, ModelError>>| match events.as_slice() {
        [Ok(ModelEvent::Reply(reply))] => reply.text.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(Model::name(&script), "script:s.jsonl");
    assert_eq!(text(ask(Transcript::new())), "one");
    assert_eq!(text(ask(Transcript::new())), "one", "asking again after a lost reply gives the same one");
    assert_eq!(text(ask(conversation())), "two");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_a_script_panic(line in ".*", path in "[a-z0-9\\[\\]\"._ -]{0,20}") {
        // Whether the text is accepted is not the question here.
        ScriptFile::parse(&line, "s.jsonl").ok();
        let wrapped = json!({"text": format!("{{{{calls[{path}}}}}"), "calls": [{"name": "a", "args": [line]}]});
        if let Ok(script) = ScriptFile::parse(&wrapped.to_string(), "s.jsonl") {
            script.reply(&Transcript::new()).ok();
            let said: Transcript = [result(Some(Outcome::Ok), vec![Block::text("{\"a\": [1]}")])].into_iter().collect();
            script.reply(&said).ok();
        }
    }
}

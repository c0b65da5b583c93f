use super::*;

/// The body of the request that these words become.
pub(super) async fn sent(request: ModelRequest) -> Value {
    let server = Server::json(&chat(json!({"role": "assistant", "content": "ok"}), json!("stop")));
    ask(settings(&server.base_url), request).await.unwrap();
    server.request().body
}

/// P-48, H-06.
#[tokio::test]
async fn a_plain_question_is_one_post_with_the_key_in_its_header() {
    let server = Server::json(&chat(json!({"role": "assistant", "content": "Paris."}), json!("stop")));
    let reply =
        ask(settings(&format!("{}/", server.base_url)), request([Message::user("Capital?")], &[])).await;
    let recorded = server.request();
    assert!(recorded.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", recorded.head);
    assert_eq!(recorded.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(recorded.header("content-type"), Some("application/json"));
    assert_eq!(recorded.header("user-agent"), Some(concat!("hotcell/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(
        recorded.body,
        json!({"model": "gpt-4.1", "messages": [{"role": "user", "content": "Capital?"}]})
    );
    assert_eq!(
        reply.unwrap(),
        ModelReply {
            text: Some("Paris.".into()),
            calls: vec![],
            stop: ReplyStop::EndTurn,
            usage: TokenUsage { input_tokens: 12, output_tokens: 3, ..TokenUsage::default() },
        }
    );
}

#[tokio::test]
async fn without_a_key_no_key_is_sent() {
    let server = Server::json(&chat(json!({"content": "ok"}), json!("stop")));
    let settings = OpenAiSettings { api_key: None, ..settings(&server.base_url) };
    ask(settings, request([Message::user("hi")], &[])).await.unwrap();
    assert_eq!(server.request().header("authorization"), None);
}

#[tokio::test]
async fn a_conversation_with_tools_goes_out_as_it_is() {
    let history = [
        Message::System { text: "Be brief.".into() },
        Message::user("Weather in Paris and Rome?"),
        Message::Assistant {
            text: Some("Let me look.".into()),
            calls: vec![call("a", "weather", r#"{"q":"Paris"}"#), call("b", "weather", r#"{"q":"Rome"}"#)],
        },
        Message::Tool {
            call_id: "a".into(),
            name: "weather".into(),
            outcome: Some(Outcome::Ok),
            content: vec![Block::text("sunny"), Block::Json { value: json!({"sky": "sunny"}) }],
        },
        Message::Tool {
            call_id: "b".into(),
            name: "weather".into(),
            outcome: Some(Outcome::Ok),
            content: vec![Block::Json { value: json!({"sky": "rain"}) }],
        },
    ];
    let mut request = request(history, &[tool("weather"), tool("notes")]);
    request.max_output_tokens = Some(100);
    request.temperature = Some(0.5);
    let function = |name: &str| {
        json!({"type": "function", "function": {
            "name": name,
            "description": format!("Does {name}."),
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        }})
    };
    let called = |id: &str, q: &str| {
        json!({"type": "function", "id": id, "function": {
            "name": "weather", "arguments": json!({ "q": q }).to_string(),
        }})
    };
    assert_eq!(
        sent(request).await,
        json!({
            "model": "gpt-4.1",
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
                {"role": "user", "content": "Weather in Paris and Rome?"},
                {"role": "assistant", "content": "Let me look.",
                 "tool_calls": [called("a", "Paris"), called("b", "Rome")]},
                {"role": "tool", "tool_call_id": "a", "content": "sunny"},
                {"role": "tool", "tool_call_id": "b", "content": "{\"sky\":\"rain\"}"},
            ],
            "tools": [function("weather"), function("notes")],
            "temperature": 0.5,
            "max_tokens": 100,
        })
    );
}

#[tokio::test]
async fn tools_are_declared_also_when_none_may_be_called() {
    let history = [
        Message::user("go"),
        Message::Assistant { text: None, calls: vec![call("a", "weather", "{}")] },
        Message::Tool {
            call_id: "a".into(),
            name: "weather".into(),
            outcome: Some(Outcome::Ok),
            content: vec![Block::text("sunny")],
        },
    ];
    let request = ModelRequest { tool_choice: ToolChoice::None, ..request(history, &[tool("weather")]) };
    let body = sent(request).await;
    assert_eq!(body["tool_choice"], "none");
    assert_eq!(body["tools"][0]["function"]["name"], "weather");
    assert_eq!(body["messages"][1]["tool_calls"][0]["id"], "a", "calls stay calls: {body}");
}

#[tokio::test]
async fn a_failed_result_says_so_in_its_text_exactly_once() {
    let result = |id: &str, outcome, text: &str| Message::Tool {
        call_id: id.into(),
        name: "t".into(),
        outcome,
        content: vec![Block::text(text)],
    };
    let calls = ["a", "b", "c"].map(|id| call(id, "t", "")).to_vec();
    let history = [
        Message::user("go"),
        Message::Assistant { text: None, calls },
        result("a", Some(Outcome::Fuel), "ran out"),
        result("b", Some(Outcome::Trap), "error: trap\nmessage: it broke"),
        result("c", None, "another call was refused"),
    ];
    let body = sent(request(history, &[tool("t")])).await;
    let texts: Vec<_> = body["messages"].as_array().unwrap()[2..].iter().map(|m| &m["content"]).collect();
    assert_eq!(
        texts,
        [
            "error: fuel\nran out",
            "error: trap\nmessage: it broke",
            "error: the tool did not run\nanother call was refused"
        ]
    );
}

#[tokio::test]
async fn arguments_that_are_no_json_object_go_back_as_one() {
    let history = [
        Message::user("go"),
        Message::Assistant {
            text: None,
            calls: vec![call("a", "t", ""), call("b", "t", "[1"), call("c", "t", r#"{"q": "x", "n": 1.50}"#)],
        },
    ];
    let body = sent(request(history, &[tool("t")])).await;
    let arguments: Vec<Value> = body["messages"][1]["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(arguments, [json!({}), json!({}), json!({"q": "x", "n": 1.5})]);
}

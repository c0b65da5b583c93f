use super::*;

#[tokio::test]
async fn parallel_calls_keep_their_order_ids_and_argument_texts() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "x1", "type": "function", "function": {"name": "a", "arguments": "{\"q\": 1}"}},
        {"type": "function", "function": {"name": "b", "arguments": "{\"q\": "}},
        {"id": "", "type": "function", "function": {"name": "c", "arguments": {"q": 2}}},
        {"id": "call_2_2", "function": {"name": "d"}},
    ]});
    let server = Server::json(&chat(message, json!("tool_calls")));
    let history = [Message::user("hi"), Message::Assistant { text: Some("yes?".into()), calls: vec![] }];
    let reply = ask(settings(&server.base_url), request(history, &[tool("a")])).await.unwrap();
    assert_eq!(reply.stop, ReplyStop::ToolUse);
    assert_eq!(reply.text, None);
    assert_eq!(
        reply.calls,
        [
            call("x1", "a", "{\"q\": 1}"),
            call("call_2_1", "b", "{\"q\": "),
            call("call_2_3", "c", "{\"q\":2}"),
            call("call_2_2", "d", ""),
        ]
    );
}

/// H-50.
#[tokio::test]
async fn the_finish_reason_is_taken_from_the_raw_reply() {
    for (finish, stop) in [
        (json!("stop"), ReplyStop::EndTurn),
        (json!(null), ReplyStop::EndTurn),
        (json!("tool_calls"), ReplyStop::ToolUse),
        (json!("function_call"), ReplyStop::ToolUse),
        (json!("length"), ReplyStop::MaxTokens),
        (json!("content_filter"), ReplyStop::Safety),
        (json!("insufficient_system_resource"), ReplyStop::Other("insufficient_system_resource".into())),
    ] {
        let reply = reply_to(chat(json!({"role": "assistant", "content": "x"}), finish)).await.unwrap();
        assert_eq!((reply.stop, reply.text.as_deref()), (stop, Some("x")));
    }
}

/// H-50.
#[tokio::test]
async fn a_refusal_is_one_whatever_the_finish_reason_says() {
    let field = json!({"role": "assistant", "content": null, "refusal": "I cannot help with that."});
    let part =
        json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot help with that."}]});
    for message in [field, part] {
        let reply = reply_to(chat(message, json!("stop"))).await.unwrap();
        assert_eq!(reply.stop, ReplyStop::Refusal);
        assert_eq!(reply.text.as_deref(), Some("I cannot help with that."));
    }
    let answer = json!({"role": "assistant", "content": "fine", "refusal": null});
    assert_eq!(reply_to(chat(answer, json!("stop"))).await.unwrap().stop, ReplyStop::EndTurn);
}

#[tokio::test]
async fn a_text_may_come_in_parts_and_an_empty_one_is_none() {
    let parts = json!({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]});
    assert_eq!(reply_to(chat(parts, json!("stop"))).await.unwrap().text.as_deref(), Some("ab"));
    assert_eq!(reply_to(chat(json!({"content": ""}), json!("stop"))).await.unwrap().text, None);
}

/// H-60.
#[tokio::test]
async fn cached_tokens_are_counted_as_part_of_the_input() {
    let mut body = chat(json!({"content": "x"}), json!("stop"));
    body["usage"] = json!({
        "prompt_tokens": 100, "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 15},
    });
    let expected =
        TokenUsage { input_tokens: 100, output_tokens: 20, cache_read_tokens: 80, cache_write_tokens: 5 };
    assert_eq!(reply_to(body).await.unwrap().usage, expected);
    let mut body = chat(json!({"content": "x"}), json!("stop"));
    body["usage"] = json!(null);
    assert_eq!(reply_to(body).await.unwrap().usage, TokenUsage::default());
}

/// P-14.
#[tokio::test]
async fn a_body_that_is_no_reply_says_what_was_found() {
    let malformed = |message: &str| ModelError::Malformed { message: message.into() };
    let call = json!({"tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]});
    for (body, error) in [
        (json!({"choices": []}), malformed("expected `choices` with a message, found `{\"choices\":[]}`")),
        (json!([]), malformed("expected `choices` with a message, found `[]`")),
        (json!({"choices": [{}]}), malformed("expected `choices[0].message`, found `{}`")),
        (
            chat(json!({"role": "tool", "content": "x"}), json!("stop")),
            malformed("expected a message of the assistant, found role `\"tool\"`"),
        ),
        (
            chat(call, json!("tool_calls")),
            malformed(
                "expected a function name in tool call 0, found `{\"id\":\"a\",\"function\":{\"arguments\":\"{}\"}}`",
            ),
        ),
        (
            json!({"error": {"message": "no such model", "code": 400}}),
            ModelError::Provider { message: "no such model".into(), status: Some(200) },
        ),
    ] {
        assert_eq!(reply_to(body).await.unwrap_err(), error);
    }
}

//! Proof that the search finds the call of a tool in every spelling, and nothing else.

use super::*;

fn found(path: &str, text: &str) -> Vec<(usize, String)> {
    let source = Source::parse(path, text).unwrap();
    sites(&[source]).into_iter().map(|site| (site.line, site.code)).collect()
}

fn check(text: &str, code: &str) {
    assert_eq!(found("host/hotcell/src/x.rs", text), [(1, code.to_owned())], "{text}");
}

fn unseen(path: &str, text: &str) {
    assert_eq!(found(path, text), [], "{text}");
}

#[test]
fn a_call_of_a_trait_object_is_found_without_an_import() {
    check("async fn f(t: &Held) { t.tool.call(&ctx, &arguments).await; }", "tool.call(..)");
    check("fn f() { self.tools[0].call(ctx, arguments) }", "(..).call(..)");
    check("fn f() { find(name)?.call(ctx, arguments) }", "(..).call(..)");
    check("fn f() { tool.r#call(ctx, arguments) }", "tool.call(..)");
    check("fn f() { tool.call::<Vec<u8>>(ctx, arguments) }", "tool.call(..)");
}

#[test]
fn a_call_inside_of_a_macro_is_found() {
    check("fn f() { tokio::select! { r = tool.call(&ctx, &arguments) => r } }", "tool.call(..)");
}

#[test]
fn a_call_over_several_lines_is_found() {
    let text = "fn f() {\n    tool\n        .call(\n            ctx, arguments,\n        )\n}";
    assert_eq!(found("host/cli/src/x.rs", text), [(3, "tool.call(..)".to_owned())]);
}

#[test]
fn a_path_to_the_method_is_found_called_or_not() {
    check("fn f() { Tool::call(&*tool, ctx, arguments) }", "Tool::call");
    check("fn f() { let method = hotcell_core::tool::Tool::call; }", "Tool::call");
    check("use hotcell_core::tool::Tool as Callable; fn f() { Callable::call(t, c, a) }", "Callable::call");
    check("fn f() { <T as hotcell_core::tool::Tool>::call(t, c, a) }", "<.. Tool>::call");
    check("fn f() { <dyn Tool>::call(t, c, a) }", "<.. Tool>::call");
    check("fn f() { <Box<dyn Fn() -> Arc<dyn Tool>> as Tool>::call(t, c, a) }", "<.. Tool>::call");
}

#[test]
fn a_path_through_a_type_is_found() {
    check("fn f() { HostTool::call(&tool, ctx, arguments) }", "HostTool::call(..)");
    check("impl X { fn f() { Self::call(self, ctx, arguments) } }", "Self::call(..)");
}

#[test]
fn a_room_without_tools_is_searched_only_when_it_names_the_trait() {
    unseen("host/sandbox/src/x.rs", "fn f() { function.call(&mut store, parameters) }");
    let text = "use hotcell_core::tool::Tool; fn f(t: &dyn Tool) { t.call(ctx, arguments) }";
    assert_eq!(found("host/sandbox/src/x.rs", text), [(1, "t.call(..)".to_owned())]);
    let text = "fn f() { Tool::call(t, c, a) }";
    assert_eq!(found("host/store/src/x.rs", text), [(1, "Tool::call".to_owned())]);
}

#[test]
fn definitions_comments_texts_and_other_calls_are_not_calls_of_a_tool() {
    for text in [
        "impl Tool for X { fn call<'a>(&'a self, ctx: &'a C, arguments: &'a V) -> F<'a> { todo() } }",
        "// tool.call(ctx, arguments)\nfn f() {}",
        "/// `Tool::call(t, c, a)`\nfn f() {}",
        "fn f() { log(\"tool.call(ctx, arguments)\") }",
        "fn f() { door.call(request) }",
        "fn f() { closure.call((a, b)) }",
        "fn f() { entry.call }",
        "fn f() { <X as Other>::call(t, c, a) }",
        "fn f() { module::call(a, b, c) }",
    ] {
        unseen("host/hotcell/src/x.rs", text);
    }
}

#[test]
fn tests_of_a_tool_may_call_it() {
    let text = "#[cfg(test)] mod tests { fn f() { tool.call(ctx, arguments) } }";
    unseen("host/agent/src/host_tool.rs", text);
    unseen("host/agent/src/host_tool/tests.rs", "fn f() { tool.call(ctx, arguments) }");
}

#[test]
fn the_door_has_exactly_one_call_and_no_other_place_has_any() {
    let call = "fn f() { tool.call(&ctx, &arguments) }";
    let at = |path: &str| Source::parse(path, call).unwrap();
    assert_eq!(violations(&[at("host/agent/src/door.rs")]), [] as [String; 0]);
    assert_eq!(violations(&[at("host/agent/src/door/execute.rs")]), [] as [String; 0]);

    let outside = violations(&[at("host/agent/src/door.rs"), at("host/agent/src/doorway.rs")]);
    assert_eq!(outside.len(), 1);
    assert!(outside.concat().starts_with("host/agent/src/doorway.rs:1: `tool.call(..)`"), "{outside:?}");

    let twice = violations(&[at("host/agent/src/door.rs"), at("host/agent/src/door/retry.rs")]);
    assert!(twice.concat().contains("expected exactly one call of a tool, found 2"), "{twice:?}");
    let none = violations(&[]);
    assert!(none.concat().contains("expected exactly one call of a tool, found 0"), "{none:?}");
}

//! Components that are hard to compile, through the real binary and its own limits: an error with a code, and nothing
//! is left. How each limit ends a compile is tested where the compiler is, with limits small enough to meet soon.

use hotcell_tests::untouched::Place;

use crate::loading_bytes::almost_a_tool;

/// Calls the component; it is no tool, so it is refused at the latest when it is loaded.
fn check_refused(name: &str, component: &[u8]) {
    let mut place = Place::new();
    let path = place.component(&format!("{name}.wasm"), component);
    let said = place.hotcell(&["tool", "call", path.to_str().unwrap(), "t", "--json"]);
    assert_eq!(said.code, Some(1), "{name}: {said:?}");
    let code = said.json()["error"]["code"].clone();
    if code == "invalid_component" {
        // It fitted the limits of this machine: its artifact is kept, and it never runs.
        place.accept_cache();
    } else {
        assert!(code == "compile_limit" || code == "compile_timeout", "{name}: {said:?}");
    }
    place.check_untouched(name, &said);
    let control = place.hotcell(&["tool", "inspect", path.to_str().unwrap()]);
    assert_eq!(control.code, Some(0), "{name}: other commands go on: {control:?}");
}

#[test]
fn four_hundred_thousand_statements_are_compiled_or_stopped() {
    let body = "(local.set 0 (i32.add (local.get 0) (i32.const 7)))".repeat(400_000);
    check_refused(
        "statements",
        &almost_a_tool(&format!("(core module (func (param i32) (result i32) {body} (local.get 0)))")),
    );
}

#[test]
fn a_hundred_thousand_nested_blocks_end_no_process_but_the_compilers() {
    let (open, close) = ("block ".repeat(100_000), "end ".repeat(100_000));
    check_refused("blocks", &almost_a_tool(&format!("(core module (func {open} {close}))")));
}

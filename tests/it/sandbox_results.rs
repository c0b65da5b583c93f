//! Results and definitions are data that may be wrong in every way.

use std::sync::Arc;

use hotcell_core::content::Block;
use hotcell_core::limits::CallLimits;
use hotcell_core::outcome::{Outcome, Phase};
use hotcell_tests::call::{Call, load, prepare, sandbox};
use hotcell_tests::services::Recorder;
use hotcell_tests::wat_tool::WatTool;
use hotcell_tests::{guest, health};

#[tokio::test]
async fn results_that_break_the_interface_are_invalid() {
    let sandbox = sandbox();
    let cases = [
        // Text that is not UTF-8.
        "(i32.store8 (i32.const 600) (i32.const 255)) (call $text (i32.const 600) (i32.const 1))",
        // Text beyond the end of memory, and with a length that wraps.
        "(call $text (i32.const 131070) (i32.const 100))",
        "(call $text (i32.const 8) (i32.const 0x7fffffff))",
        // A return area that is not aligned, and one beyond the end.
        "(drop (call $ok)) (i32.const 1025)",
        "(i32.const 0x7ffffff0)",
        // A discriminant of the result that does not exist.
        "(drop (call $ok)) (i32.store8 (i32.const 1024) (i32.const 9)) (i32.const 1024)",
    ];
    for call in cases {
        let tool = prepare(&sandbox, &WatTool { call, ..WatTool::default() }.build().unwrap());
        let report = Call::new(&tool, "t", "{}").run(&tool).await;
        let ended = (report.outcome, report.phase);
        assert_eq!(ended, (Outcome::InvalidResult, Some(Phase::Lift)), "{call}: {report:?}");
        assert!(report.content.is_empty());
    }
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn empty_blocks_and_the_words_of_a_failure_count_for_the_result_limit() {
    let sandbox = sandbox();
    // 50,000 blocks of no text, and a failure whose message has two million bytes.
    let blocks =
        "(i32.store (i32.const 1028) (i32.const 131072)) (i32.store (i32.const 1032) (i32.const 50000))
        (i32.const 1024)";
    let failure = "(i32.store8 (i32.const 1024) (i32.const 1)) (i32.store (i32.const 1044) (i32.const 65536))
        (i32.store (i32.const 1048) (i32.const 2000000)) (i32.const 1024)";
    for call in [blocks, failure] {
        let tool = prepare(&sandbox, &WatTool { call, pages: 40, ..WatTool::default() }.build().unwrap());
        let report = Call::new(&tool, "t", "{}").run(&tool).await;
        assert_eq!(
            (report.outcome, report.phase),
            (Outcome::ResultTooLarge, Some(Phase::Lift)),
            "{report:?}"
        );
        assert!(report.content.is_empty() && report.guest_message.is_none());
    }
}

#[tokio::test]
async fn a_function_of_another_signature_is_refused_when_the_component_is_loaded() {
    let text = br#"(component
        (core module $m (func (export "call") (result i32) (i32.const 0)))
        (core instance $i (instantiate $m))
        (func $f (result u32) (canon lift (core func $i "call")))
        (instance $tools (export "definitions" (func $f)) (export "call" (func $f)))
        (export "hotcell:tool/tools@0.1.0" (instance $tools)))"#;
    let component = wat::parse_bytes(text).unwrap();
    let error = sandbox().load(&hotcell_tests::call::compile(&component)).unwrap_err().to_string();
    assert!(error.contains("`definitions`") && error.contains("found () -> u32"), "{error}");
}

/// P-30.
#[tokio::test]
async fn text_that_is_not_utf8_and_json_that_is_none_are_invalid() {
    let sandbox = sandbox();
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    for tool in ["invalid_utf8", "invalid_json"] {
        let report = Call::new(&misbehave, tool, "{}").run(&misbehave).await;
        assert_eq!((report.outcome, report.phase), (Outcome::InvalidResult, Some(Phase::Lift)), "{report:?}");
    }
}

#[tokio::test]
async fn a_failure_of_the_tool_keeps_its_fault_and_its_words_are_capped() {
    let sandbox = sandbox();
    let stats = prepare(&sandbox, &guest::bytes("text-stats"));
    let report = Call::new(&stats, "no_such_tool", "{}").run(&stats).await;
    assert_eq!(report.outcome, Outcome::ToolError, "{report:?}");
    assert!(report.guest_message.is_some_and(|text| !text.is_empty() && text.len() <= 4096));
    assert!(report.tool_fault.is_some());
}

/// P-26.
#[tokio::test]
async fn every_call_gets_a_fresh_instance() {
    let sandbox = sandbox();
    let misbehave = prepare(&sandbox, &guest::bytes("misbehave"));
    for _ in 0..100 {
        let report = Call::new(&misbehave, "count_calls", "{}").run(&misbehave).await;
        assert_eq!(report.outcome, Outcome::Ok, "{report:?}");
        let text =
            report.structured.map_or_else(|| Block::to_text(&report.content[0]), |value| value.to_string());
        assert!(text.contains('1') && !text.contains('2'), "{text}");
    }
}

#[tokio::test]
async fn definitions_are_asked_for_without_grants_and_under_limits() {
    let sandbox = sandbox();
    let services = Arc::new(Recorder::default());
    let tool = load(&sandbox, &health::control_tool());
    let definitions =
        tool.definitions(CallLimits::default(), Arc::<Recorder>::clone(&services)).await.unwrap();
    assert_eq!(definitions.len(), 1);
    assert_eq!(definitions[0].name.as_str(), "t");

    let looping =
        WatTool { call: "(call $ok)", extra: "(func $s (loop (br 0))) (start $s)", ..WatTool::default() };
    let limits = CallLimits { timeout: std::time::Duration::from_millis(200), ..CallLimits::default() };
    let error = load(&sandbox, &looping.build().unwrap()).definitions(limits, services).await.unwrap_err();
    assert!(error.to_string().contains("did not end within"), "{error}");
    health::check(&sandbox, 64).await;
}

#[tokio::test]
async fn log_records_and_progress_reach_the_host_capped() {
    let sandbox = sandbox();
    let logger = prepare(&sandbox, &guest::bytes("log-flood"));
    let services = Arc::new(Recorder::default());
    let report =
        logger.call(Call::new(&logger, "log_flood", "{}").request, Arc::<Recorder>::clone(&services)).await;
    assert_eq!(report.outcome, Outcome::Ok, "{report:?}");
    assert!(report.usage.log_records > 200, "{report:?}");
    let logs = services.logs();
    assert_eq!(logs.len(), 200);
    for record in logs {
        let bytes = record.message.len()
            + record.fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        assert!(bytes <= 4096, "{bytes}");
    }
}

//! What a model may write, however wrong: one documented answer each, and the tool does not run.

use std::fmt::Write as _;

use hotcell_core::outcome::Outcome;
use hotcell_core::text::steers;
use serde_json::json;

use super::support::{Counter, door, echo, request};
use crate::answer::Answer;
use crate::door::Asked;
use crate::host_tool::HostTool;
use crate::tool_set::Offer;

/// Longest refusal: the code, the message and the advice, with what they quote.
const MAX_REFUSAL: usize = 4_000;

/// `say(text)`, which says its arguments again.
fn say(ran: &Counter) -> Offer {
    let ran = ran.clone();
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}, "more": {}}});
    let tool = HostTool::define("say", "").unwrap().pure().input_schema(schema).handler(move |arguments| {
        ran.add();
        async move { arguments.to_string() }
    });
    Offer::new(tool, "line")
}

async fn call(offer: Offer, tool: &str, arguments: &str) -> Answer {
    door([offer]).call(&request(tool, arguments), Asked::Nobody).await.unwrap()
}

/// Refuses the arguments of `say` and says so in few words without anything that steers a terminal.
async fn refused(arguments: &str) -> String {
    let ran = Counter::default();
    let answer = call(say(&ran), "say", arguments).await;
    let start: String = arguments.chars().take(60).collect();
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::InvalidArgs, 0), "{start}");
    assert!(answer.text.len() <= MAX_REFUSAL, "{start}: {} bytes", answer.text.len());
    assert!(!answer.text.chars().any(|c| steers(c) && c != '\n'), "{start}: {}", answer.text);
    answer.report.message.clone()
}

// L-03
/// P-03.
#[tokio::test]
async fn arguments_that_are_cut_anywhere_are_refused() {
    let whole = r#"{"text": "caf\u00e9 \"x\"", "more": [1.5e3, {"a": null}, true]}"#;
    for (end, _) in whole.char_indices().skip(1) {
        refused(whole.get(..end).unwrap()).await;
    }
    let ran = Counter::default();
    assert_eq!(call(say(&ran), "say", whole).await.report.outcome, Outcome::Ok);
}

// L-03
/// P-03.
#[tokio::test]
async fn arguments_with_anything_around_them_are_refused_with_the_place() {
    for (arguments, place) in [
        (r#"{"text": "a"}{"text": "b"}"#, "line 1 column 14"),
        ("{\"text\": \"a\"}\nand so on", "line 2 column 1"),
        ("```json\n{\"text\": \"a\"}\n```", "line 1 column 1"),
        ("'{\"text\": \"a\"}'", "line 1 column 1"),
        ("{'text': 'a'}", "line 1 column 2"),
        ("{\"text\": \"a\",}", "line 1 column 14"),
        ("{text: \"a\"}", "line 1 column 2"),
        ("// a\n{}", "line 1 column 1"),
        ("\u{feff}{}", "line 1 column 1"),
        ("{\"text\": \"a\nb\"}", "line 2 column 0"),
        ("{\"text\": \"\u{1b}[2J\u{202e}\"}", "line 1 column 11"),
        (r#""{\"text\": \"a\"}""#, "expected a JSON object"),
    ] {
        let message = refused(arguments).await;
        assert!(message.contains(place), "{arguments}: {message}");
    }
}

// L-04
/// P-03.
#[tokio::test]
async fn arguments_of_ten_megabytes_are_refused_by_their_size() {
    let mut keys = String::from("{");
    for n in 0..1_000_000 {
        write!(keys, "{}\"k{n}\": 0", if n == 0 { "" } else { "," }).unwrap();
    }
    keys.push('}');
    let string = format!("{{\"text\": \"{}\"}}", "x".repeat(10 << 20));
    for large in [keys, string, " ".repeat(10 << 20), "[".repeat(10 << 20)] {
        let message = refused(&large).await;
        assert_eq!(message, format!("The arguments have {} bytes, at most 262144 are allowed.", large.len()));
    }
    // Within the cap: a million of nothing much, told in few words.
    let ran = Counter::default();
    let keys: Vec<String> = (0..20_000).map(|n| format!("\"k{n}\":0")).collect();
    let answer = call(echo(&ran, false), "probe", &format!("{{{}}}", keys.join(","))).await;
    assert_eq!((answer.report.outcome, ran.get()), (Outcome::InvalidArgs, 0));
    assert!(answer.text.len() <= MAX_REFUSAL, "{} bytes", answer.text.len());
}

// L-05
/// P-03.
#[tokio::test]
async fn arguments_nested_ten_thousand_deep_are_refused() {
    let deep = |open: &str, close: &str| format!("{}0{}", open.repeat(10_000), close.repeat(10_000));
    for nested in [deep("[", "]"), deep("{\"a\":", "}"), deep("[{\"a\":", "}]")] {
        for arguments in [nested.clone(), format!("{{\"more\": {nested}}}")] {
            let message = refused(&arguments).await;
            assert!(message.contains("recursion limit") || message.contains("deeper than 64"), "{message}");
        }
    }
    let edge = |depth: usize| format!("{{\"more\": {}0{}}}", "[".repeat(depth), "]".repeat(depth));
    let ran = Counter::default();
    assert_eq!(call(say(&ran), "say", &edge(62)).await.report.outcome, Outcome::Ok);
    assert!(refused(&edge(65)).await.contains("deeper than 64"));
}

/// P-30.
#[tokio::test]
async fn numbers_that_are_not_finite_are_refused_wherever_they_stand() {
    for number in ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "nan", "inf", "+1", "0x10", "1.", "01"]
    {
        for arguments in [format!("{{\"more\": {number}}}"), format!("{{\"more\": [[{number}]]}}")] {
            let message = refused(&arguments).await;
            assert!(message.starts_with("The arguments are not JSON"), "{message}");
        }
    }
}

#[tokio::test]
async fn a_key_that_is_there_twice_in_whatever_spelling_is_refused_with_its_place() {
    for (arguments, place) in [
        (r#"{"text": "a", "text": "b"}"#, "`/text`"),
        (r#"{"text": "a", "t\u0065xt": "b"}"#, "`/text`"),
        (r#"{"more": [{"x": {"y": 1, "y": 1}}]}"#, "`/more/0/x/y`"),
        ("{\"more\": {\"\u{202e}\": 1, \"\u{202e}\": 2}}", "`/more/\\u{202e}`"),
    ] {
        let message = refused(arguments).await;
        assert!(message.contains(place), "{arguments}: {message}");
    }
}

#[tokio::test]
async fn lone_surrogates_are_refused_in_arguments_and_harmless_in_results() {
    for lone in [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\ud800", r"\udfff\ud800", r"\ud8"] {
        for arguments in [format!("{{\"text\": \"{lone}\"}}"), format!("{{\"{lone}\": 1}}")] {
            let message = refused(&arguments).await;
            assert!(message.starts_with("The arguments are not JSON"), "{message}");
        }
    }
    // A pair is a character, and a NUL is one too.
    let ran = Counter::default();
    let answer = call(say(&ran), "say", r#"{"text": "\ud83d\ude00\u0000"}"#).await;
    assert_eq!(answer.text.as_ref(), "{\"text\":\"😀\\u0000\"}");
    // A text that spells one is six characters, and what is kept of the call is still JSON.
    let spells = HostTool::define("spells", "").unwrap().pure().handler(|_| async { r#"{"a":"\ud800"}"# });
    let answer = call(Offer::new(spells, "line"), "spells", "{}").await;
    assert_eq!((answer.report.outcome, answer.text.as_ref()), (Outcome::Ok, r#"{"a":"\ud800"}"#));
    let stored = serde_json::to_string(&answer).unwrap();
    assert_eq!(serde_json::from_str::<Answer>(&stored).unwrap(), answer);
}

// L-02, L-12
/// P-27.
#[tokio::test]
async fn names_of_any_length_and_kind_are_unknown_and_told_in_few_words() {
    let long = "x".repeat(300);
    let huge = "say".repeat(4_000);
    for name in [
        long.as_str(),
        &huge,
        &"\u{202e}".repeat(10_000),
        "s\u{430}y",
        "say\0",
        "say\u{1b}[2J",
        "ｓａｙ",
        "../say",
        "other_tenant/say",
        "say/say",
        "{\"name\": \"say\"}",
        "",
        " ",
        "functions.",
        "😀",
    ] {
        let ran = Counter::default();
        let answer = call(say(&ran), name, "{}").await;
        assert_eq!((answer.report.outcome, ran.get()), (Outcome::UnknownTool, 0), "{name}");
        assert!(answer.text.len() <= MAX_REFUSAL, "{} bytes", answer.text.len());
        assert!(!answer.text.chars().any(|c| steers(c) && c != '\n'), "{}", answer.text);
    }
}

use std::time::{Duration, Instant};

use hotcell_core::results::ResultHandle;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::window::{Asked, MAX_LINES, Window};
use super::{search, shown, window};

fn handle() -> ResultHandle {
    ResultHandle::parse("0123456789abcdef").unwrap()
}

const START: Asked = Asked { offset: 0, limit: MAX_LINES, char_offset: 0, max_chars: 0 };

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// The note and what stands below it.
fn parts(text: &str) -> (&str, &str) {
    let (note, rest) = text.split_once("]\n").unwrap();
    (note, rest)
}

/// The arguments of the call in a note that starts with these words.
fn call_after(text: &str, words: &str) -> Value {
    let (_, call) = text.split_once(words).unwrap();
    let call = call.split_once("read_tool_result ").unwrap().1;
    let (arguments, _) = call.split_once('}').unwrap();
    serde_json::from_str(&format!("{arguments}}}")).unwrap()
}

fn read(text: &str, asked: Asked, max_chars: usize) -> Window {
    window::read(text, &handle(), &asked, max_chars).unwrap()
}

/// H-25, H-26.
#[test]
fn a_list_of_records_keeps_every_record_with_its_texts_cut_to_one_length() {
    let record = |n: usize| json!({"id": n, "title": format!("Record {n}"), "text": "é".repeat(650 + n)});
    let list: Vec<Value> = (0..20).map(record).collect();
    for whole in [json!(list).to_string(), json!({"total": 20, "rows": list, "few": [{"a": 1}]}).to_string()]
    {
        let max_chars = chars(&whole) * 100 / 116;
        let text = shown(&whole, true, &handle(), max_chars);
        assert!(chars(&text) <= max_chars);
        let (note, list) = parts(&text);
        assert!(note.starts_with("[All 20 records are shown, their texts cut to "), "{note}");
        let fitted: Value = serde_json::from_str(list).unwrap();
        let rows = fitted.get("rows").unwrap_or(&fitted).as_array().unwrap();
        assert_eq!(rows.len(), 20);
        let cap = rows[0]["text"].as_str().unwrap().chars().take_while(|c| *c == 'é').count();
        for (n, row) in rows.iter().enumerate() {
            let missing = 650 + n - cap;
            let expected = format!("{} [... {missing} more characters]", "é".repeat(cap));
            assert_eq!((row["id"].as_u64(), row["text"].as_str()), (Some(n as u64), Some(expected.as_str())));
        }
        let kept = chars(list) * 100 / chars(&whole);
        assert!((80..=87).contains(&kept), "{kept}% of the text");
    }
}

/// H-28.
#[test]
fn what_is_no_list_that_fits_has_one_of_four_previews() {
    let few_lines = "word ".repeat(20_000);
    let many_lines: String = (0..2_000).map(|n| format!("line {n} of the log\n")).collect();
    let records: Vec<Value> =
        (0..500).map(|n| json!({"name": format!("row {n}"), "n": n, "body": "x".repeat(400)})).collect();
    let broken = "{\"a\": ".repeat(10_000);
    for (whole, first, last) in [
        (few_lines, "word word", "word "),
        (many_lines, "line 0 of the log\n", "line 1999 of the log\n"),
        (json!(records).to_string(), "1. row 0", "more records]"),
        (broken, "{\"a\": {", "{\"a\": "),
    ] {
        let text = shown(&whole, true, &handle(), 12_000);
        let (note, preview) = parts(&text);
        assert!(note.contains("Only a part of this result is shown"), "{note}");
        assert!(chars(preview) <= 3_000, "{}", chars(preview));
        assert!(preview.starts_with(first) && preview.trim_end().ends_with(last.trim_end()), "{preview}");
    }
}

/// H-30.
#[test]
fn a_preview_of_records_skips_navigation_and_shows_title_link_and_sentence() {
    let page = "Home\nProducts | About us\nSign in\nThe river rose by two metres in the night. More follows.";
    let record = json!({"title": "Flood", "url": "https://example.org/flood", "content": page, "raw": "y".repeat(500)});
    let list: Vec<Value> = std::iter::repeat_n(record, 40).collect();
    let text = shown(&json!(list).to_string(), true, &handle(), 4_000);
    let (_, preview) = parts(&text);
    assert_eq!(
        preview.lines().next().unwrap(),
        "1. Flood | https://example.org/flood | The river rose by two metres in the night."
    );
    assert!(!preview.contains("Products"), "{preview}");
}

/// H-29, H-27.
#[test]
fn the_calls_in_note_and_reads_go_on_without_gap_or_overlap() {
    let wide: String = (0..100).map(|n| format!("{n:03} {}\n", "é".repeat(300))).collect();
    let narrow: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    for whole in [wide, narrow, "x".repeat(30_000)] {
        let note = shown(&whole, true, &handle(), 12_000);
        assert!(note.contains(" of ") && note.contains("Read what you need before you rely on it"), "{note}");
        assert!(call_after(&note, "To find passages: ")["pattern"].is_string());
        let go_on = call_after(&note, "To go on reading: ");
        assert_eq!(go_on["result_id"], "0123456789abcdef");
        let mut at = usize::try_from(go_on["char_offset"].as_u64().unwrap()).unwrap();
        let (_, preview) = parts(&note);
        let mut all: String = whole.chars().take(at).collect();
        // Up to that place the preview shows the result as it is.
        assert!(preview.starts_with(&all), "{at}");
        while at < chars(&whole) {
            let part = read(&whole, Asked { char_offset: at, ..START }, 12_000);
            let (head, text) = parts(&part.text);
            all.push_str(text);
            if part.end < chars(&whole) {
                assert_eq!(call_after(head, "go on: ")["char_offset"], part.end);
            }
            assert_eq!(part.start, at);
            at = part.end;
        }
        assert_eq!(all, whole, "byte for byte");
    }
}

/// H-32.
#[test]
fn a_result_that_only_just_was_too_large_comes_back_whole() {
    for (limit, length) in [(12_000, 12_001), (12_000, 12_750), (100, 101), (1, 2)] {
        let whole = "a\n".repeat(length).chars().take(length).collect::<String>();
        assert_eq!(read(&whole, START, limit).text, whole, "{limit}");
    }
    let larger = "a".repeat(12_751);
    assert!(chars(&read(&larger, START, 12_000).text) <= 12_000);
}

#[test]
fn lines_and_characters_are_counted_from_the_start_of_the_line() {
    let whole = "zero\none é\ntwo\nthree";
    for (offset, limit, char_offset, max_chars, part) in [
        (1, 1, 0, 0, "one é\n"),
        (1, 2, 4, 0, "é\ntwo\n"),
        (0, 2_000, 5, 3, "one"),
        (3, 1, 0, 0, "three"),
        (0, 2_000, 19, 0, "e"),
    ] {
        let asked = Asked { offset, limit, char_offset, max_chars };
        assert_eq!(parts(&read(whole, asked, 1_000).text).1, part, "{asked:?}");
    }
    for (offset, char_offset) in [(4, 0), (0, 20), (3, 5)] {
        let asked = Asked { offset, char_offset, ..START };
        let error = window::read(whole, &handle(), &asked, 1_000).unwrap_err();
        assert!(error.contains("20 characters in 4 lines"), "{error}");
    }
}

/// H-33.
#[test]
fn a_pattern_finds_passages_with_the_places_they_are_at() {
    let log: String = (0..5_000)
        .map(
            |n| if n % 1_000 == 999 { format!("{n} ERROR code {n}\n") } else { format!("{n} all is well\n") },
        )
        .collect();
    let text = search::read(&log, &handle(), &START, "error code", 12_000).unwrap();
    assert!(text.starts_with("[5 matches, to the end of the result]\nline 999, character "), "{text}");
    let place = log.find("ERROR").unwrap();
    assert!(text.contains(&format!("character {}:\n", crate::shape::thousands(place))), "{text}");
    assert_eq!(text.matches(" ERROR code ").count(), 5);
    // Each side has its context, and no more.
    assert!(text.contains("\n990 all is well\n") && !text.contains("\n980 all is well\n"), "{text}");

    // Anchors are those of lines; what is no pattern is taken as it stands.
    assert!(search::read(&log, &handle(), &START, "^1999 error", 12_000).unwrap().starts_with("[1 matches,"));
    let odd = "a (b c\n".repeat(3);
    let text = search::read(&odd, &handle(), &START, "(B", 12_000).unwrap();
    assert!(
        text.starts_with("[3 matches of the text as it stands, which is no pattern, to the end"),
        "{text}"
    );
    assert!(
        search::read("one line", &handle(), &START, "line", 12_000)
            .unwrap()
            .ends_with("\ncharacter 4:\none line")
    );
    assert!(search::read(&odd, &handle(), &START, "missing", 12_000).unwrap().starts_with("[0 matches, "));
}

/// H-33.
#[test]
fn matches_that_do_not_fit_are_read_by_the_same_call_further_on() {
    let log: String = (0..2_000).map(|n| format!("{n} needle {}\n", "hay ".repeat(150))).collect();
    let (mut at, mut seen) = (0, Vec::new());
    loop {
        let text =
            search::read(&log, &handle(), &Asked { char_offset: at, ..START }, r"\d+ needle", 8_000).unwrap();
        assert!(chars(&text) <= 8_000);
        let (head, passages) = parts(&text);
        seen.extend(passages.lines().filter_map(|line| line.split_once(" needle")?.0.parse::<usize>().ok()));
        let Some((_, next)) = head.split_once(r#""char_offset":"#) else { break };
        let next: usize = next.parse().unwrap();
        assert!(next > at, "every read gets further");
        at = next;
    }
    assert_eq!(seen, (0..2_000).collect::<Vec<_>>());
}

/// H-33.
#[test]
fn hostile_patterns_take_linear_time() {
    let long = "a".repeat(4 << 20);
    let began = Instant::now();
    search::read(&"a".repeat(40), &handle(), &START, "(a+)+$b", 12_000).unwrap();
    for pattern in ["(a+)+$", "(a|a)*b", r".*[^a-z]|[a-z]", r"(\w{1000}){1000}", "a*", ""] {
        search::read(&long, &handle(), &START, pattern, 12_000).unwrap();
    }
    // Against exponential and quadratic time, which would be hours; not a measurement.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn a_match_at_the_edge_of_a_piece_is_found_once() {
    for before in [65_530, 65_536, 61_440, 32_768] {
        let text = format!("{}needle{}", "x".repeat(before), "y".repeat(100_000));
        let found = search::read(&text, &handle(), &START, "needle", 12_000).unwrap();
        assert!(found.starts_with("[1 matches, to the end"), "{before}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z \n]{0,3000}",
        "(é|\u{1f600}|\n| word){0,2000}",
        (1_usize..60_000).prop_map(|n| "long line ".repeat(n / 10 + 1)),
        (1_usize..300)
            .prop_map(|n| json!(vec![json!({"title": "t", "text": "w ".repeat(n)}); 40]).to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// H-34.
    #[test]
    fn nothing_the_model_gets_is_over_the_limit_and_every_read_gets_further(
        whole in texts(),
        max_chars in prop_oneof![1_usize..=400, 1_usize..=50_000],
        from in 0_usize..1_000,
    ) {
        let total = chars(&whole);
        if total > max_chars {
            prop_assert!(chars(&shown(&whole, true, &handle(), max_chars)) <= max_chars);
            prop_assert!(chars(&shown(&whole, false, &handle(), max_chars)) <= max_chars);
        }
        // A whole result may be over by a sixteenth, which the door does not keep a second time.
        let first = window::read(&whole, &handle(), &START, max_chars);
        if let Ok(first) = &first {
            let over = if first.end == total && first.start == 0 { (max_chars / 16).max(1) } else { 0 };
            prop_assert!(chars(&first.text) <= max_chars + over);
        }
        let mut at = from.min(total);
        for _ in 0..50 {
            if at == total {
                break;
            }
            let asked = Asked { char_offset: at, ..START };
            let Ok(part) = window::read(&whole, &handle(), &asked, max_chars) else { break };
            prop_assert!(part.end > at);
            prop_assert!(at == 0 || chars(&part.text) <= max_chars);
            let expected: String = whole.chars().skip(at).take(part.end - at).collect();
            prop_assert!(part.text.ends_with(&expected));
            at = part.end;
        }
        let found = search::read(&whole, &handle(), &START, "w|é|l", max_chars);
        prop_assert!(found.is_err() || chars(&found.unwrap()) <= max_chars);
    }
}

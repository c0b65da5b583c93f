//! Tests of the counting.

use super::*;

fn counted(output: &str) -> (u64, u64, u64) {
    let mut tally = Tally::default();
    tally.feed(output.as_bytes());
    tally.finish();
    tally.counts()
}

const TWO_RUNNERS: &str = "\
     Running unittests src/lib.rs
running 2 tests
test a ... ok
test b ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests hotcell
test result: ok. 40 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 1.23s
";

#[test]
fn the_results_of_all_runners_are_summed() {
    assert_eq!(counted(TWO_RUNNERS), (41, 1, 3));
}

#[test]
fn the_sum_does_not_depend_on_how_the_output_is_cut() {
    for size in 1..TWO_RUNNERS.len() {
        let mut tally = Tally::default();
        for piece in TWO_RUNNERS.as_bytes().chunks(size) {
            tally.feed(piece);
        }
        tally.finish();
        assert_eq!(tally.counts(), (41, 1, 3), "pieces of {size} bytes");
    }
}

#[test]
fn colours_and_carriage_returns_do_not_hide_a_result() {
    assert_eq!(counted("test result: \u{1b}[32mok\u{1b}[0m. 7 passed; 0 failed; 0 ignored\r\n"), (7, 0, 0));
}

#[test]
fn a_last_line_without_a_line_break_counts() {
    assert_eq!(counted("test result: ok. 2 passed; 0 failed"), (2, 0, 0));
}

#[test]
fn lines_that_only_look_like_a_result_do_not_count() {
    for line in [
        "the test result: ok. 2 passed; 0 failed; 0 ignored",
        "test result: ok",
        "test result: ok. many passed; 0 failed; 0 ignored",
        "test result: ok. 2 passed",
        "test result: maybe. 2 passed; 0 failed; 0 ignored",
        "test result: \u{1b}[3",
    ] {
        assert_eq!(counted(line), (0, 0, 0), "{line}");
    }
}

#[test]
fn an_endless_line_is_kept_only_to_its_cap() {
    let mut tally = Tally::default();
    for _ in 0..1000 {
        tally.feed(&[b'x'; 1024]);
    }
    assert_eq!(tally.line.len(), MAX_LINE_BYTES);
    tally.feed(b"\ntest result: ok. 1 passed; 0 failed; 0 ignored\n");
    assert_eq!(tally.counts(), (1, 0, 0));
}

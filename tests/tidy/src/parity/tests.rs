use super::*;

const SOURCE: &str = "
/// P-01, H-02.
#[test]
fn one() {}

/// Says more than ids, such as P-03.
#[tokio::test(start_paused = true)]
async fn two() {}

proptest! {
    #[test]
    /// P-01.
    fn three(x in 0..1) {}
}

/// P-04.
fn helper() {}
";

fn claimed() -> BTreeMap<String, BTreeSet<String>> {
    claims(&[Source::parse("x.rs", SOURCE).unwrap()])
}

fn whole(change: impl Fn(&str) -> Option<&'static str>) -> Vec<Row> {
    let line = |id: String| {
        let proof = change(&id).unwrap_or(match id.as_str() {
            "P-01" => "`one`, `three`",
            "H-02" => "`one`",
            _ => "statement",
        });
        format!("| {id} | it holds | core | {proof} | |\n")
    };
    rows(&ids().into_iter().map(line).collect::<String>()).unwrap()
}

#[test]
fn the_ids_above_tests_are_read_and_nothing_else() {
    let all: Vec<(String, Vec<String>)> =
        claimed().into_iter().map(|(id, tests)| (id, tests.into_iter().collect())).collect();
    let text = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(all, [("H-02".to_owned(), text(&["one"])), ("P-01".to_owned(), text(&["one", "three"]))]);
}

#[test]
fn a_table_that_says_what_the_tests_say_holds() {
    assert_eq!(ids().len(), 68 + 57);
    assert_eq!(violations(&whole(|_| None), &claimed()), [] as [String; 0]);
}

#[test]
fn every_disagreement_is_found_in_both_directions() {
    let check = |rows: &[Row], expected: &str| {
        let found = violations(rows, &claimed());
        assert!(found.len() == 1 && found[0].ends_with(expected), "expected {expected}, found {found:?}");
    };
    check(&whole(|_| None)[1..], "docs/parity.md: H-01 has no row");
    let named = whole(|id| (id == "P-09").then_some("`gone`"));
    check(&named, "names `gone`; no test of that name has `P-09` in its doc comment");
    let silent = whole(|id| (id == "P-01").then_some("`one`"));
    check(&silent, "P-01 is proved by `three`, which it does not name");
    let open_row = whole(|id| (id == "H-02").then_some("open"));
    check(&open_row, "H-02 is proved by `one`, which it does not name");
    assert_eq!(open(&open_row), ["H-02"]);
    let mut twice = whole(|_| None);
    twice.push(twice[3].clone());
    check(&twice, "H-04 has a row already");
    let foreign = claims(&[Source::parse("x.rs", "/// P-99.\n#[test]\nfn far() {}").unwrap()]);
    let plain = whole(|id| matches!(id, "P-01" | "H-02").then_some("statement"));
    assert_eq!(violations(&plain, &foreign), ["P-99, which far claims, is no id of the contract"]);
}

#[test]
fn a_row_that_cannot_be_read_is_named_with_its_line() {
    for (line, what) in [
        ("| P-01 | it holds | core | statement |", "expected 5 cells"),
        ("| P-01 | | core | statement | |", "expected what is promised"),
        ("| P-01 | it holds | core | later: Someday | |", "`Someday` is no later work"),
        ("| P-01 | it holds | core | some_test | |", "expected `test`, `other_test`"),
        ("| P-01 | it holds | core | | |", "expected `test`, `other_test`"),
    ] {
        let wrong = rows(&format!("\n{line}\n")).unwrap_err();
        assert!(wrong[0].starts_with("docs/parity.md:2: ") && wrong[0].contains(what), "{wrong:?}");
    }
}

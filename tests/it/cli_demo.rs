//! `hotcell demo`: a task solved, attacks survived, and an answer that comes from the data.

use hotcell_tests::command::{Said, run};
use hotcell_tests::guest;

const ORDERS: &str = include_str!("../../example-tools/csv-query/data/orders.csv");

fn demo(rest: &[&str]) -> Said {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let mut args = vec!["demo"];
    args.extend(rest);
    run(&guest::demo_binary(), &args, &[("HOTCELL_CACHE_DIR", cache.to_str().unwrap())])
}

/// The revenue of the third quarter, computed here without any tool.
fn revenue(csv: &str) -> String {
    let cents: u64 = csv
        .lines()
        .skip(1)
        .filter_map(|line| {
            // A product may be quoted and hold commas; what is needed stands left and right of it.
            let date = line.split(',').nth(1)?;
            let mut from_the_right = line.rsplit(',');
            let cents: u64 = from_the_right.next()?.replace('.', "").parse().ok()?;
            let quantity: u64 = from_the_right.next()?.parse().ok()?;
            ("2026-07-01"..="2026-09-30").contains(&date).then_some(quantity * cents)
        })
        .sum();
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[test]
fn the_demo_survives_every_attack_and_its_numbers_are_right() {
    let said = demo(&[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for code in ["deadline", "fuel", "memory_limit", "trap", "result_too_large", "tool_error", "denied"] {
        assert!(said.out.contains(code), "{code}: {}", said.out);
    }
    let expected = revenue(ORDERS);
    assert!(said.out.contains(&expected), "{expected}: {}", said.out);
}

#[test]
fn a_changed_number_in_the_csv_changes_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.csv");
    let changed = format!("{}\nO-9999,2026-08-01,East,Milk pitcher,1000,24.95\n", ORDERS.trim_end());
    std::fs::write(&path, &changed).unwrap();
    let said = demo(&["--csv", path.to_str().unwrap()]);
    let (before, after) = (revenue(ORDERS), revenue(&changed));
    assert_ne!(before, after);
    assert!(said.out.contains(&after) && !said.out.contains(&before), "{after}: {}", said.out);
}

#[test]
fn a_binary_without_the_components_says_how_to_get_them() {
    let said = run(&guest::binary(), &["demo"], &[]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("cargo xtask demo"), "{said:?}");
}

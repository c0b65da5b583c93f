use hotcell_tool::testing;
use serde_json::{Value, json};

use super::*;

const ORDERS: &str = include_str!("../data/orders.csv");

const SALES: &str = "region,product,quantity,price,day\n\
    North,Tea,2,9.50,2026-01-02\n\
    South,\"Tea, green\",1,20,2026-01-03\n\
    North,Cup,1,0.10,2026-02-01\n\
    South,Cup,,3,2026-02-02\n";

fn ask(csv: &str, mut arguments: Value) -> Value {
    arguments["csv"] = csv.into();
    let output = testing::call(&TOOLS, "query", &arguments).unwrap();
    serde_json::from_str(output.structured_text().unwrap()).unwrap()
}

fn refuse(csv: &str, mut arguments: Value) -> String {
    arguments["csv"] = csv.into();
    testing::call(&TOOLS, "query", &arguments).unwrap_err().message
}

#[test]
fn all_rows_come_back_typed_when_nothing_is_asked() {
    assert_eq!(
        ask(SALES, json!({"limit": 2})),
        json!({"matched": 4, "found": 4, "rows": [
            {"region": "North", "product": "Tea", "quantity": 2, "price": 9.5, "day": "2026-01-02"},
            {"region": "South", "product": "Tea, green", "quantity": 1, "price": 20, "day": "2026-01-03"},
        ]})
    );
}

#[test]
fn every_operator_filters() {
    let table = [
        (json!(["region", "=", "North"]), 2),
        (json!(["region", "!=", "North"]), 2),
        (json!(["quantity", "=", 1]), 2),
        (json!(["quantity", "=", "1.0"]), 2),
        (json!(["quantity", "!=", 1]), 2),
        (json!(["quantity", "=", ""]), 1),
        (json!(["price", "<", 9.5]), 2),
        (json!(["price", "<=", 9.5]), 3),
        (json!(["price", ">", "9.5"]), 1),
        (json!(["quantity", ">=", 1]), 3),
        (json!(["day", ">=", "2026-02-01"]), 2),
        (json!(["product", "contains", "TEA"]), 2),
        (json!(["price", "contains", "0.1"]), 1),
    ];
    for (filter, matched) in table {
        let arguments = json!({"filter": [{"column": filter[0], "op": filter[1], "value": filter[2]}]});
        assert_eq!(ask(SALES, arguments)["matched"], matched, "{filter}");
    }
}

#[test]
fn groups_are_aggregated_exactly() {
    let aggregate = json!([
        {"op": "count"},
        {"op": "count", "column": "quantity"},
        {"op": "sum", "column": "quantity", "times": "price", "as": "revenue"},
        {"op": "mean", "column": "price"},
        {"op": "min", "column": "day"},
        {"op": "max", "column": "price"},
    ]);
    assert_eq!(
        ask(SALES, json!({"group_by": ["region"], "aggregate": aggregate}))["rows"],
        json!([
            {"region": "North", "count": 2, "count_quantity": 2, "revenue": 19.1, "mean_price": 4.8, "min_day": "2026-01-02", "max_price": 9.5},
            {"region": "South", "count": 2, "count_quantity": 1, "revenue": 20, "mean_price": 11.5, "min_day": "2026-01-03", "max_price": 20},
        ])
    );
    let none = json!({"filter": [{"column": "region", "op": "=", "value": "East"}], "aggregate": aggregate});
    assert_eq!(
        ask(SALES, none)["rows"],
        json!([{"count": 0, "count_quantity": 0, "revenue": 0, "mean_price": null, "min_day": null, "max_price": null}])
    );
    assert_eq!(
        ask(SALES, json!({"group_by": ["region"]}))["rows"],
        json!([{"region": "North"}, {"region": "South"}])
    );
}

#[test]
fn rows_are_sorted_cut_and_selected_in_this_order() {
    let arguments = json!({
        "sort": [{"column": "region", "descending": true}, {"column": "price"}],
        "select": ["product", "price"],
        "limit": 3,
    });
    assert_eq!(
        ask(SALES, arguments)["rows"],
        json!([
            {"product": "Cup", "price": 3},
            {"product": "Tea, green", "price": 20},
            {"product": "Cup", "price": 0.1},
        ])
    );
}

#[test]
fn the_shipped_orders_add_up_as_another_program_says() {
    let arguments = json!({
        "filter": [{"column": "date", "op": ">=", "value": "2026-07-01"}],
        "group_by": ["region"],
        "aggregate": [{"op": "sum", "column": "quantity", "times": "unit_price", "as": "revenue"}],
        "sort": [{"column": "revenue", "descending": true}],
    });
    // Computed once with Python's `decimal`.
    assert_eq!(
        ask(ORDERS, arguments)["rows"],
        json!([
            {"region": "West", "revenue": 7270.65},
            {"region": "South", "revenue": 6124.55},
            {"region": "North", "revenue": 4564.55},
            {"region": "East", "revenue": 2601.2},
        ])
    );
}

#[test]
fn a_changed_number_changes_the_answer() {
    let arguments = || json!({"aggregate": [{"op": "sum", "column": "quantity"}]});
    let before = ask(ORDERS, arguments())["rows"][0]["sum_quantity"].as_i64().unwrap();
    let changed = ORDERS.replacen(
        "O-1001,2026-01-05,East,Pour-over set,4,",
        "O-1001,2026-01-05,East,Pour-over set,5,",
        1,
    );
    assert_eq!(ask(&changed, arguments())["rows"][0]["sum_quantity"], before + 1);
}

#[test]
fn mistakes_are_named_by_their_place() {
    let table = [
        (
            json!({"filter": [{"column": "regoin", "op": "=", "value": 1}]}),
            "`filter[0]`: there is no column `regoin`",
        ),
        (
            json!({"filter": [{"column": "price", "op": ">", "value": "many"}]}),
            "`filter[0]`: column `price` holds numbers, and `many` is not one",
        ),
        (
            json!({"filter": [{"column": "price", "op": "~", "value": 1}]}),
            "argument `filter[0].op` does not fit",
        ),
        (json!({"group_by": ["x"]}), "`group_by[0]`: there is no column `x`"),
        (json!({"aggregate": [{"op": "sum"}]}), "`aggregate[0]`: `sum` needs a `column`"),
        (
            json!({"aggregate": [{"op": "sum", "column": "product"}]}),
            "line 2 holds `Tea`, which is not a number",
        ),
        (json!({"aggregate": [{"op": "count"}, {"op": "count"}]}), "two result columns are named `count`"),
        (
            json!({"group_by": ["region"], "sort": [{"column": "price"}]}),
            "`sort[0]`: there is no column `price`",
        ),
        (json!({"select": ["price", "price"]}), "`select[1]`: column `price` is selected twice"),
        (json!({"limit": 10_001}), "at most 10000 rows"),
        (json!({"delimiter": "\n"}), "`delimiter` is '\\n'"),
        (json!({"delimiter": "\n", "colour": 1}), "unknown field `colour`"),
    ];
    for (arguments, expected) in table {
        let message = refuse(SALES, arguments.clone());
        assert!(message.contains(expected), "{arguments}: {message}");
    }
}

#[test]
fn the_examples_of_the_definition_work() {
    let definitions = testing::definitions(&TOOLS);
    let examples = &definitions[0].examples;
    assert_eq!(examples.len(), 2);
    for example in examples {
        assert!(
            testing::Call::with_text(&TOOLS, "query", example.as_str()).run().result.is_ok(),
            "{example}"
        );
    }
}

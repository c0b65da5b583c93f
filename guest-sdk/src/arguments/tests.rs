use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Point {
    x: i64,
    y: Option<i64>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Flat {
    name: String,
    #[serde(flatten)]
    point: Point,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Name(String);

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Dot { at: Point },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Tree {
    children: Vec<Self>,
}

/// The path of every type through the same calls the macro makes.
fn read<T: DeserializeOwned + JsonSchema>(text: &str) -> Result<T, String> {
    ((&&Arguments::<T>::new()).reader().decode)("value", text).map_err(|failure| {
        assert_eq!(failure.fault, crate::Fault::InvalidInput);
        assert!(failure.advice.is_some());
        failure.message
    })
}

fn describe<T: DeserializeOwned + JsonSchema>() -> Value {
    ((&&Arguments::<T>::new()).reader().schema)("value", Some("A value."))
}

#[test]
fn a_struct_is_the_arguments_and_all_else_is_one_of_them() {
    assert_eq!(read::<Point>(r#"{"x": 1}"#), Ok(Point { x: 1, y: None }));
    let flat = Flat { name: "a".into(), point: Point { x: 1, y: Some(2) } };
    assert_eq!(read::<Flat>(r#"{"name": "a", "x": 1, "y": 2}"#), Ok(flat));
    assert_eq!(read::<Shape>(r#"{"kind": "circle", "radius": 1.5}"#), Ok(Shape::Circle { radius: 1.5 }));

    assert_eq!(read::<String>(r#"{"value": "a"}"#), Ok("a".into()));
    assert_eq!(read::<Name>(r#"{"value": "a"}"#), Ok(Name("a".into())));
    assert_eq!(read::<Color>(r#"{"value": "red"}"#), Ok(Color::Red));
    assert_eq!(read::<Vec<Point>>(r#"{"value": [{"x": 1}]}"#), Ok(vec![Point { x: 1, y: None }]));
    assert_eq!(read::<BTreeMap<String, u8>>(r#"{"value": {"a": 1}}"#), Ok([("a".into(), 1)].into()));
    assert_eq!(read::<Value>(r#"{"value": [1]}"#), Ok(json!([1])));
    assert_eq!(read::<Option<u8>>("{}"), Ok(None));
    assert_eq!(read::<Option<u8>>(""), Ok(None));
    assert_eq!(read::<Option<u8>>(r#"{"value": 3}"#), Ok(Some(3)));
}

#[test]
fn schemas_are_objects_that_stand_alone() {
    assert_eq!(
        describe::<String>(),
        json!({
            "type": "object",
            "properties": {"value": {"type": "string", "description": "A value."}},
            "required": ["value"],
            "additionalProperties": false,
        })
    );
    assert_eq!(describe::<Option<String>>().get("required"), None);
    assert_eq!(describe::<Point>()["properties"]["x"]["type"], "integer");
    assert_eq!(describe::<Point>().get("title"), None);
    assert_eq!(describe::<Vec<Point>>()["properties"]["value"]["items"]["type"], "object");
    assert_eq!(describe::<Shape>()["type"], "object");
    let tree = describe::<Vec<Tree>>().to_string();
    for reference in tree.split(r#""$ref":"#).skip(1) {
        assert!(reference.starts_with(r##""#/"##), "{tree}");
    }
}

#[test]
fn what_does_not_fit_is_named_by_its_place() {
    let table = [
        (
            read::<Point>(r#"{"x": "a"}"#).unwrap_err(),
            "argument `x` does not fit: invalid type: string \"a\", expected i64",
        ),
        (read::<Point>("{}").unwrap_err(), "the arguments do not fit: missing field `x`"),
        (
            read::<Vec<Point>>(r#"{"value": [{"x": 1}, {"x": 1.5}]}"#).unwrap_err(),
            "argument `value[1].x` does not fit: invalid type: floating point `1.5`, expected i64",
        ),
        (
            read::<String>(r#"{"text": "a"}"#).unwrap_err(),
            "the arguments do not fit: unknown field `text`, expected `value`",
        ),
        (read::<String>("{}").unwrap_err(), "the arguments do not fit: missing field `value`"),
        (
            read::<String>(r#"{"value": "a", "value": "b"}"#).unwrap_err(),
            "the arguments do not fit: duplicate field `value`",
        ),
        (read::<String>("[]").unwrap_err(), "the arguments are not an object"),
        (read::<Point>("[1, 2]").unwrap_err(), "the arguments are not an object"),
        (read::<String>("x").unwrap_err(), "the arguments are not JSON: expected value at line 1 column 1"),
        (
            read::<String>("{").unwrap_err(),
            "the arguments are not JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            read::<String>(r#"{"value": "a"} x"#).unwrap_err(),
            "the arguments are not JSON: trailing characters at line 1 column 16",
        ),
    ];
    for (found, expected) in table {
        assert_eq!(found, expected);
    }
}

use std::time::Instant;

use serde_json::{Value, json};

use super::{Schema, SchemaError, depth_is_at_most};

fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let schema = Schema::compile(schema).unwrap();
    schema.check(value, value.to_string().len(), 10).err().unwrap_or_default()
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    let schema = json!({
        "type": "object",
        "properties": {"limit": {"type": "integer", "maximum": 255}, "name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": false
    });
    assert_eq!(
        errors(&schema, &json!({"limit": 999, "x": 1})),
        [
            "at `/limit`: 999 is greater than the maximum of 255",
            "at the top level: Additional properties are not allowed ('x' was unexpected)",
            "at the top level: \"name\" is a required property",
        ]
    );
}

// L-13
/// P-28.
#[test]
fn nothing_is_coerced() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "default": 3}}});
    assert!(errors(&schema, &json!({})).is_empty());
    for wrong in [json!({"n": "1"}), json!({"n": null}), json!({"n": 1.5}), json!({"n": [1]})] {
        assert_eq!(errors(&schema, &wrong).len(), 1, "{wrong}");
    }
}

#[test]
fn errors_are_few_and_short() {
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    let many: Value = (0..100).map(|_| "\u{1b}[2J".repeat(1_000)).collect();
    let errors = errors(&schema, &many);
    assert_eq!(errors.len(), 10);
    assert!(errors.iter().all(|error| error.len() < 3_000 && !error.contains('\u{1b}')));
}

// L-08, L-09
// Refused before the validator sees it, and the validator fetches nothing either.
#[test]
fn references_to_anything_outside_are_refused() {
    for reference in ["http://127.0.0.1:1/x", "https://example.com", "file:///etc/hostname", "other.json", ""]
    {
        for key in ["$ref", "$dynamicRef"] {
            let schema = json!({"properties": {"a/b": {key: reference}}});
            let error = Schema::compile(&schema).unwrap_err();
            let SchemaError::ForeignReference { path, .. } = &error else { panic!("{error}") };
            assert_eq!(*path, format!("/properties/a~1b/{key}"));
        }
    }
    for reference in ["#anchor", "#/$defs/missing"] {
        let error = Schema::compile(&json!({"$ref": reference})).unwrap_err().to_string();
        assert!(error.contains("leads to no place in the schema"), "{error}");
    }
    let inner = json!({"properties": {"a": {"$id": "http://localhost/x"}}});
    let error = Schema::compile(&inner).unwrap_err().to_string();
    assert_eq!(error, "at `/properties/a/$id`: only the root of the schema may have an `$id`");
    let own = json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}});
    assert!(errors(&own, &json!(1)).is_empty());
    assert_eq!(errors(&own, &json!("1")).len(), 1);
}

// L-11
#[test]
fn schemas_that_are_too_large_or_no_schemas_are_refused() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({"not": inner}));
    let wide: Value = (0..20_000).map(Value::from).collect();
    let refs: Value = (0..300).map(|_| json!({"$ref": "#"})).collect();
    for (schema, message) in [
        (deep, "schema has 65 levels, at most 64 are allowed"),
        (json!({"enum": wide}), "values, at most 10000"),
        (json!({"description": "x".repeat(200_000)}), "bytes, at most 131072"),
        (json!({"anyOf": refs}), "257 references, at most 256"),
        (json!({"pattern": "x".repeat(2_000)}), "2000 characters in a pattern"),
        (json!({"maxLength": -1}), "not a JSON Schema of draft 2020-12"),
        (json!({"type": 3}), "not a JSON Schema of draft 2020-12"),
        (json!({"$ref": "#"}), "unfolds into more than 20000 steps"),
        (json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}), "unfolds into more than 20000 steps"),
        (json!({"pattern": "("}), "not a JSON Schema of draft 2020-12"),
        (json!({"pattern": "^(?!a)b"}), "not a JSON Schema of draft 2020-12"),
        (json!({"pattern": "[a-z]{1000}{1000}"}), "not a JSON Schema of draft 2020-12"),
    ] {
        let error = Schema::compile(&schema).unwrap_err().to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
}

/// P-19.
#[test]
fn arguments_have_an_object_schema() {
    for schema in [json!({}), json!({"type": "array"}), json!({"type": ["object", "null"]}), json!(true)] {
        assert!(
            matches!(Schema::compile_arguments(&schema), Err(SchemaError::NotAnObject { .. })),
            "{schema}"
        );
    }
    assert!(Schema::compile_arguments(&json!({"type": "object"})).is_ok());
}

// L-10, C-10: each of these takes for ever with a backtracking engine or without a memory of what was
// checked. The bound is far above what they take and far below what they would.
#[test]
fn hostile_schemas_are_checked_in_linear_time() {
    let both = json!({"$ref": "#"});
    let doubling = json!({
        "anyOf": [
            {"type": "object", "properties": {"a": both}, "required": ["b"]},
            {"type": "object", "properties": {"a": both}, "required": ["c"]}
        ]
    });
    let nested = (0..60).fold(json!({}), |inner, _| json!({"a": inner}));
    let chain: serde_json::Map<String, Value> = (0..40)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({"allOf": [next, next]}))
        })
        .chain([("d40".to_owned(), json!({"type": "integer"}))])
        .collect();
    for (schema, value) in [
        (json!({"pattern": "^(a+)+$"}), json!(format!("{}b", "a".repeat(50_000)))),
        (json!({"properties": {"a": {"$ref": "#/properties/a"}}}), json!({"a": 1})),
        (json!({"$defs": chain, "properties": {"a": {"$ref": "#/$defs/d0"}}}), json!({"a": "x"})),
        (json!({"$defs": chain, "properties": {"a": {"$ref": "#/$defs/d0"}}}), json!({"a": 1})),
        (doubling, nested),
        (json!({"uniqueItems": true}), (0..40_000).map(|n| json!({ "n": n })).collect()),
    ] {
        let began = Instant::now();
        drop(errors(&schema, &value));
        let took = began.elapsed();
        assert!(took.as_secs() < 5, "{took:?} for {}", crate::wording::quote(&schema.to_string()));
    }
}

#[test]
fn a_check_that_would_hold_the_thread_for_long_is_refused() {
    let rules: Value = (0..2_000).map(|n| json!({"not": {"const": n}})).collect();
    let schema = Schema::compile(&json!({"type": "array", "items": {"allOf": rules}})).unwrap();
    let value: Value = (0..100_000).collect();
    let errors = schema.check(&value, value.to_string().len(), 10).unwrap_err();
    assert!(errors[0].contains("bytes are too many to check"), "{errors:?}");
}

// L-05
#[test]
fn deep_values_are_found_without_recursion() {
    let deep = |levels| (1..levels).fold(json!(1), |inner, _| json!([inner]));
    assert!(depth_is_at_most(&deep(64), 64) && !depth_is_at_most(&deep(65), 64));
    assert_eq!(errors(&json!({}), &deep(65)), ["nested deeper than 64 levels"]);
}

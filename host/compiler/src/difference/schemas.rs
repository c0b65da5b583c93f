//! Where two JSON Schemas differ, and whether the new one takes more or less.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{SchemaChange, SchemaEffect, SchemaPlaces};

/// How deep schemas are compared; what differs further inside is reported at this depth.
const MAX_DEPTH: usize = 32;

/// Words under which the keys are names that the author chose, and not words of JSON Schema.
const MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// Words that say nothing of the values that are taken.
const ANNOTATIONS: [&str; 14] = [
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentMediaType",
    "contentEncoding",
];

/// What the keys of an object are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Words,
    Names,
}

/// Where the comparison is.
#[derive(Clone, Copy)]
struct Spot<'a> {
    /// A JSON Pointer.
    at: &'a str,
    depth: usize,
    keys: Keys,
}

/// Compares two schemas.
pub(super) fn compare(old: &Value, new: &Value, found: &mut SchemaPlaces) {
    values(old, new, Spot { at: "", depth: 0, keys: Keys::Words }, found);
}

/// Goes into objects only: in an array one element more moves all others, so it differs as a whole.
fn values(old: &Value, new: &Value, spot: Spot<'_>, found: &mut SchemaPlaces) {
    if old == new {
        return;
    }
    let at = spot.at;
    match (old, new) {
        (Value::Object(old), Value::Object(new)) if spot.depth < MAX_DEPTH => objects(old, new, spot, found),
        (Value::Bool(false), _) => found.add(at, SchemaChange::Changed, Some(SchemaEffect::Widened)),
        (_, Value::Bool(false)) => found.add(at, SchemaChange::Changed, Some(SchemaEffect::Narrowed)),
        (_, _) => found.add(at, SchemaChange::Changed, None),
    }
}

fn objects(old: &Map<String, Value>, new: &Map<String, Value>, spot: Spot<'_>, found: &mut SchemaPlaces) {
    let Spot { at, depth, keys } = spot;
    for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let inner = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        let is_map = keys == Keys::Words && MAPS.contains(&key.as_str());
        let below = if is_map { Keys::Names } else { Keys::Words };
        // A name more or less is a value with another name; whether others are taken is for other words to say.
        let limits = keys == Keys::Words && !is_map && !ANNOTATIONS.contains(&key.as_str());
        match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) => match effect(key, old, new).filter(|_| limits) {
                Some(effect) => found.add(&inner, SchemaChange::Changed, Some(effect)),
                None if limits || is_map || keys == Keys::Names => {
                    values(old, new, Spot { at: &inner, depth: depth + 1, keys: below }, found);
                }
                None if old == new => {}
                None => found.add(&inner, SchemaChange::Changed, None),
            },
            (None, _) => found.add(&inner, SchemaChange::Added, limits.then_some(SchemaEffect::Narrowed)),
            (_, None) => found.add(&inner, SchemaChange::Removed, limits.then_some(SchemaEffect::Widened)),
        }
    }
}

/// Whether another value of the word takes more or less, where that can be told from the word alone.
fn effect(word: &str, old: &Value, new: &Value) -> Option<SchemaEffect> {
    if old == new {
        return None;
    }
    let (wider, narrower) = match word {
        "type" | "enum" => {
            let (old, new) = (set(old), set(new));
            (new.is_superset(&old), new.is_subset(&old))
        }
        "required" => {
            let (old, new) = (set(old), set(new));
            (new.is_subset(&old), new.is_superset(&old))
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            (old.as_f64() < new.as_f64(), old.as_f64() > new.as_f64())
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            (old.as_f64() > new.as_f64(), old.as_f64() < new.as_f64())
        }
        _ => (false, false),
    };
    match (wider, narrower) {
        (true, false) => Some(SchemaEffect::Widened),
        (false, true) => Some(SchemaEffect::Narrowed),
        (true, true) | (false, false) => None,
    }
}

/// The elements of an array, or the one value that stands for them.
fn set(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Array(all) => all.iter().map(Value::to_string).collect(),
        one => [one.to_string()].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_that_takes_more_or_less_says_so() {
        use SchemaChange::{Added, Changed, Removed};
        use SchemaEffect::{Narrowed, Widened};
        let check = |old: Value, new: Value, at: &str, how, effect: Option<SchemaEffect>| {
            let mut found = SchemaPlaces::default();
            compare(&old, &new, &mut found);
            let [place] = found.places.as_slice() else { panic!("{old} {new}: {found:?}") };
            assert_eq!((place.at.as_str(), place.how, place.effect), (at, how, effect), "{old} {new}");
        };
        check(
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
            "/type",
            Changed,
            Some(Widened),
        );
        check(json!({"enum": ["a", "b"]}), json!({"enum": ["a"]}), "/enum", Changed, Some(Narrowed));
        check(json!({"enum": ["a"]}), json!({"enum": ["b"]}), "/enum", Changed, None);
        check(json!({"minimum": 1}), json!({"minimum": 0}), "/minimum", Changed, Some(Widened));
        check(json!({}), json!({"maxLength": 3}), "/maxLength", Added, Some(Narrowed));
        check(json!({"pattern": "x"}), json!({}), "/pattern", Removed, Some(Widened));
        check(json!({"pattern": "x"}), json!({"pattern": "y"}), "/pattern", Changed, None);
        check(
            json!({"required": ["a"]}),
            json!({"required": ["a", "b"]}),
            "/required",
            Changed,
            Some(Narrowed),
        );
        check(
            json!({"additionalProperties": false}),
            json!({"additionalProperties": true}),
            "/additionalProperties",
            Changed,
            Some(Widened),
        );
        check(json!({"title": "x"}), json!({}), "/title", Removed, None);
        check(json!({"description": "x"}), json!({"description": "y"}), "/description", Changed, None);
        // A property that happens to have the name of a word is still a property.
        check(
            json!({"properties": {}}),
            json!({"properties": {"maximum": {}}}),
            "/properties/maximum",
            Added,
            None,
        );
        check(
            json!({"properties": {"type": {"items": {"type": "integer"}}}}),
            json!({"properties": {"type": {"items": {"type": "string"}}}}),
            "/properties/type/items/type",
            Changed,
            None,
        );
    }
}

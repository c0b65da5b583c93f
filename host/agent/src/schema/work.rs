//! How much work it is to check a value: counted before the validator starts, because a check cannot
//! be interrupted and a small schema can unfold into more steps than there are atoms.

use serde_json::{Map, Value};

/// Keywords whose schemas apply to the same value, one or several.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// Keywords whose schema applies to every member of an object.
const PER_MEMBER: [&str; 3] = ["additionalProperties", "unevaluatedProperties", "propertyNames"];

/// Keywords whose schema applies to every item of an array.
const PER_ITEM: [&str; 3] = ["items", "contains", "unevaluatedItems"];

/// How often a schema is applied to some part of the value, counted as if nothing were ever
/// remembered or left out; `None` when it is more than `limit`.
pub(super) fn steps(schema: &Value, value: &Value, limit: usize) -> Option<usize> {
    let mut walk = Walk { root: schema, open: vec![(schema, value)], steps: 0 };
    while let Some((schema, value)) = walk.open.pop() {
        walk.steps += 1;
        // What is open will be a step each, so it is bounded as well.
        if walk.steps + walk.open.len() > limit {
            return None;
        }
        if let Value::Object(keywords) = schema {
            walk.in_place(keywords, value);
            match value {
                Value::Object(members) => walk.members(keywords, members, limit),
                Value::Array(items) => walk.items(keywords, items, limit),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }
    Some(walk.steps)
}

/// The place a reference leads to; `None` when it is not the root or a plain pointer from it.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

struct Walk<'a> {
    root: &'a Value,
    open: Vec<(&'a Value, &'a Value)>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn in_place(&mut self, keywords: &'a Map<String, Value>, value: &'a Value) {
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let target = keywords.get(key).and_then(Value::as_str).and_then(|to| resolve(self.root, to));
            self.open.extend(target.map(|schema| (schema, value)));
        }
        for schema in IN_PLACE.iter().filter_map(|key| keywords.get(*key)) {
            match schema {
                Value::Array(schemas) => self.open.extend(schemas.iter().map(|schema| (schema, value))),
                schema => self.open.push((schema, value)),
            }
        }
        for key in ["dependentSchemas", "dependencies"] {
            if let Some(Value::Object(schemas)) = keywords.get(key) {
                self.open.extend(schemas.values().map(|schema| (schema, value)));
            }
        }
    }

    fn members(&mut self, keywords: &'a Map<String, Value>, members: &'a Map<String, Value>, limit: usize) {
        if let Some(Value::Object(schemas)) = keywords.get("properties") {
            for (name, schema) in schemas {
                self.open.extend(members.get(name).map(|member| (schema, member)));
            }
        }
        let patterns = match keywords.get("patternProperties") {
            Some(Value::Object(schemas)) => schemas.values().collect(),
            Some(_) | None => Vec::new(),
        };
        let single = PER_MEMBER.iter().filter_map(|key| keywords.get(*key));
        for schema in patterns.into_iter().chain(single) {
            self.each(schema, members.values(), limit);
        }
    }

    fn items(&mut self, keywords: &'a Map<String, Value>, items: &'a [Value], limit: usize) {
        if let Some(Value::Array(schemas)) = keywords.get("prefixItems") {
            self.open.extend(schemas.iter().zip(items));
        }
        for schema in PER_ITEM.iter().filter_map(|key| keywords.get(*key)) {
            self.each(schema, items.iter(), limit);
        }
    }

    /// One schema on many values; more than the limit need not be written down.
    fn each(&mut self, schema: &'a Value, values: impl Iterator<Item = &'a Value>, limit: usize) {
        let left = limit.saturating_sub(self.open.len()).saturating_add(1);
        self.open.extend(values.take(left).map(|value| (schema, value)));
    }
}

//! What a schema may come to before it is given to the validator.

use serde_json::Value;

use super::SchemaError;
use super::work::resolve;
use crate::wording::quote;

/// Bytes of a schema as compact JSON.
pub const MAX_SCHEMA_BYTES: usize = 128 << 10;

/// Deepest nesting of a schema.
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// Values of a schema, keywords' values included.
pub const MAX_SCHEMA_NODES: usize = 10_000;

/// References of a schema.
pub const MAX_SCHEMA_REFS: usize = 256;

/// Characters of one pattern.
const MAX_PATTERN_CHARS: usize = 1_024;

/// What one character of a pattern weighs against one node.
const PATTERN_WEIGHT: u64 = 4;

/// Checks the bounds and says how heavy the schema is, at least 1.
pub(super) fn check(schema: &Value) -> Result<u64, SchemaError> {
    let mut count = Count::default();
    let mut trail = Trail::default();
    let mut open = vec![(schema, trail.root(), 1_usize)];
    while let Some((value, place, depth)) = open.pop() {
        limit("levels", depth, MAX_SCHEMA_DEPTH)?;
        count.nodes += 1;
        limit("values", count.nodes, MAX_SCHEMA_NODES)?;
        match value {
            Value::Array(items) => {
                limit("values", items.len(), MAX_SCHEMA_NODES)?;
                for (index, item) in items.iter().enumerate() {
                    open.push((item, trail.below(place, Segment::Index(index)), depth + 1));
                }
            }
            Value::Object(members) => {
                limit("values", members.len(), MAX_SCHEMA_NODES)?;
                for (key, member) in members {
                    let place = trail.below(place, Segment::Key(key));
                    count.member(key, member)?;
                    check_reference(schema, key, member, depth, || trail.pointer(place))?;
                    open.push((member, place, depth + 1));
                }
            }
            Value::String(text) => count.text_bytes += text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        limit("bytes", count.text_bytes, MAX_SCHEMA_BYTES)?;
    }
    // The walk has shown that it is not deep, so writing it cannot exhaust the stack.
    limit("bytes", schema.to_string().len(), MAX_SCHEMA_BYTES)?;
    let nodes = u64::try_from(count.nodes).unwrap_or(u64::MAX);
    let patterns = u64::try_from(count.pattern_chars).unwrap_or(u64::MAX);
    Ok(nodes.saturating_add(patterns.saturating_mul(PATTERN_WEIGHT)).max(1))
}

/// Where each value stands, kept as links: a path is written out only for an error.
#[derive(Default)]
struct Trail<'a> {
    links: Vec<(usize, Segment<'a>)>,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Trail<'a> {
    fn root(&mut self) -> usize {
        self.below(0, Segment::Root)
    }

    fn below(&mut self, parent: usize, segment: Segment<'a>) -> usize {
        self.links.push((parent, segment));
        self.links.len() - 1
    }

    fn pointer(&self, mut place: usize) -> String {
        let mut segments = Vec::new();
        while let Some((parent, segment)) = self.links.get(place) {
            match segment {
                Segment::Root => break,
                Segment::Key(key) => segments.push(key.replace('~', "~0").replace('/', "~1")),
                Segment::Index(index) => segments.push(index.to_string()),
            }
            place = *parent;
        }
        segments.iter().rev().fold(String::new(), |path, segment| path + "/" + segment)
    }
}

/// References stay inside of the schema and lead to a place that [`work`](super::work) finds as well.
fn check_reference(
    root: &Value,
    key: &str,
    member: &Value,
    depth: usize,
    pointer: impl Fn() -> String,
) -> Result<(), SchemaError> {
    let Value::String(reference) = member else { return Ok(()) };
    match key {
        "$ref" | "$dynamicRef" | "$recursiveRef" => {
            let place = || (quote(&pointer()), quote(reference));
            if !reference.starts_with('#') {
                let (path, reference) = place();
                return Err(SchemaError::ForeignReference { path, reference });
            }
            if resolve(root, reference).is_none() {
                let (path, reference) = place();
                return Err(SchemaError::UnknownReference { path, reference });
            }
        }
        "$id" if depth > 1 => return Err(SchemaError::InnerId { path: quote(&pointer()) }),
        _ => {}
    }
    Ok(())
}

#[derive(Default)]
struct Count {
    nodes: usize,
    refs: usize,
    text_bytes: usize,
    pattern_chars: usize,
}

impl Count {
    fn member(&mut self, key: &str, member: &Value) -> Result<(), SchemaError> {
        self.text_bytes += key.len();
        match (key, member) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                self.refs += 1;
                limit("references", self.refs, MAX_SCHEMA_REFS)?;
            }
            ("pattern", Value::String(pattern)) => self.pattern(pattern)?,
            ("patternProperties", Value::Object(patterns)) => {
                for pattern in patterns.keys() {
                    self.pattern(pattern)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str) -> Result<(), SchemaError> {
        let chars = pattern.chars().count();
        limit("characters in a pattern", chars, MAX_PATTERN_CHARS)?;
        self.pattern_chars += chars;
        Ok(())
    }
}

fn limit(what: &'static str, found: usize, limit: usize) -> Result<(), SchemaError> {
    if found > limit { Err(SchemaError::TooLarge { what, found, limit }) } else { Ok(()) }
}

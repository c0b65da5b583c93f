//! What is different between two versions of a component, as far as it can be read without running them.

use std::collections::{BTreeMap, BTreeSet};

use hotcell_core::ids::Digest;
use hotcell_core::tool::Definition;
use serde::Serialize;
use serde_json::Value;

use crate::inspect::{Capability, ImportGroup, Inspection};

mod schemas;

/// Places of one schema that are listed; more are counted.
const MAX_SCHEMA_PLACES: usize = 50;

/// Two versions of a component, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Whether the files are the same, byte for byte.
    pub same_bytes: bool,
    /// The digests, the old one first.
    pub digests: [Digest; 2],
    /// The lengths in bytes, the old one first.
    pub bytes: [u64; 2],
    /// What it could do at most: only what the new version can and the old one could not.
    pub reach_gained: Vec<Reach>,
    /// What only the old version could do.
    pub reach_lost: Vec<Reach>,
    /// Interfaces that only the new version imports, with their versions.
    pub imports_added: Vec<String>,
    /// Interfaces that only the old version imports.
    pub imports_removed: Vec<String>,
    /// What it takes before any call, where that differs.
    pub needs: Vec<Need>,
    /// How the tools differ; none when the definitions of a version are not embedded.
    pub tools: Option<ToolsDifference>,
    /// Whether the same tools and languages made both, by their own account.
    pub same_producers: bool,
}

/// Something a component takes before any call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// What: `memory_bytes`, `table_elements` or `start_functions`.
    pub what: &'static str,
    /// How much the old version takes.
    pub old: u64,
    /// How much the new version takes.
    pub new: u64,
}

/// Something a component may be able to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// What.
    pub capability: Capability,
    /// In plain words, to follow "the component".
    pub text: String,
}

/// How the tools of two versions differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToolsDifference {
    /// Tools that only the new version has.
    pub added: Vec<String>,
    /// Tools that only the old version has.
    pub removed: Vec<String>,
    /// Tools of both that are not the same.
    pub changed: Vec<ToolChange>,
}

/// How one tool differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolChange {
    /// Its name.
    pub tool: String,
    /// The descriptions, the old one first, when they differ. They are text of the author that models read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<[String; 2]>,
    /// Whether what it claims of itself differs.
    pub hints: bool,
    /// What else differs: `title`, `timeout_ms` or `examples`.
    pub others: Vec<&'static str>,
    /// Arguments that have to be given now, and had not before.
    pub newly_required: Vec<String>,
    /// Arguments that had to be given before.
    pub no_longer_required: Vec<String>,
    /// Where the schema of the arguments differs.
    pub input: SchemaPlaces,
    /// Where the schema of the result differs.
    pub output: SchemaPlaces,
}

/// Places at which two schemas differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SchemaPlaces {
    /// At most 50 of them.
    pub places: Vec<SchemaPlace>,
    /// How many more there are.
    pub left_out: usize,
}

/// One place at which two schemas differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaPlace {
    /// A JSON Pointer; the empty one is the whole schema.
    pub at: String,
    /// What happened there.
    pub how: SchemaChange,
    /// What that does to the values that are taken, where it can be told.
    pub effect: Option<SchemaEffect>,
}

/// What happened at a place of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaChange {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It says something else.
    Changed,
}

/// What a change does to the values a schema takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaEffect {
    /// More values are taken.
    Widened,
    /// Fewer values are taken.
    Narrowed,
}

/// Compares two versions of a component.
#[must_use]
pub fn difference(old: &Inspection, new: &Inspection) -> Difference {
    let (old_imports, new_imports) = (imports(old), imports(new));
    Difference {
        same_bytes: old.digest == new.digest,
        digests: [old.digest, new.digest],
        bytes: [old.bytes, new.bytes],
        reach_gained: reach_beyond(new, old),
        reach_lost: reach_beyond(old, new),
        imports_added: new_imports.difference(&old_imports).cloned().collect(),
        imports_removed: old_imports.difference(&new_imports).cloned().collect(),
        needs: needs(old, new),
        tools: old.definitions.as_ref().zip(new.definitions.as_ref()).map(|(old, new)| tools(old, new)),
        same_producers: old.producers == new.producers,
    }
}

/// What one version may be able to do and the other may not.
fn reach_beyond(more: &Inspection, less: &Inspection) -> Vec<Reach> {
    let possible = |inspection: &Inspection, capability| {
        inspection.ceilings.iter().any(|ceiling| ceiling.possible && ceiling.capability == capability)
    };
    let beyond =
        more.ceilings.iter().filter(|ceiling| ceiling.possible && !possible(less, ceiling.capability));
    beyond.map(|ceiling| Reach { capability: ceiling.capability, text: ceiling.text.clone() }).collect()
}

fn needs(old: &Inspection, new: &Inspection) -> Vec<Need> {
    let (before, after) = (&old.core, &new.core);
    let all = [
        Need { what: "memory_bytes", old: before.minimum_memory_bytes, new: after.minimum_memory_bytes },
        Need {
            what: "table_elements",
            old: before.minimum_table_elements,
            new: after.minimum_table_elements,
        },
        Need {
            what: "start_functions",
            old: before.start_functions.into(),
            new: after.start_functions.into(),
        },
    ];
    all.into_iter().filter(|need| need.old != need.new).collect()
}

fn imports(inspection: &Inspection) -> BTreeSet<String> {
    inspection.imports.iter().flat_map(ImportGroup::names).collect()
}

fn tools(old: &[Definition], new: &[Definition]) -> ToolsDifference {
    let by_name = |all: &'_ [Definition]| -> BTreeMap<String, Definition> {
        all.iter().map(|known| (known.name.to_string(), known.clone())).collect()
    };
    let (old, new) = (by_name(old), by_name(new));
    let missing = |of: &BTreeMap<String, Definition>, from: &BTreeMap<String, Definition>| {
        of.keys().filter(|name| !from.contains_key(*name)).cloned().collect()
    };
    ToolsDifference {
        added: missing(&new, &old),
        removed: missing(&old, &new),
        changed: old.iter().filter_map(|(name, old)| change(old, new.get(name)?)).collect(),
    }
}

fn change(old: &Definition, new: &Definition) -> Option<ToolChange> {
    if old == new {
        return None;
    }
    let (was, is) = (required(&old.input_schema), required(&new.input_schema));
    let described = old.description != new.description;
    Some(ToolChange {
        tool: new.name.to_string(),
        description: described.then(|| [old.description.clone(), new.description.clone()]),
        hints: old.hints != new.hints,
        others: [
            ("title", old.title != new.title),
            ("timeout_ms", old.timeout_ms != new.timeout_ms),
            ("examples", old.examples != new.examples),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect(),
        newly_required: is.difference(&was).cloned().collect(),
        no_longer_required: was.difference(&is).cloned().collect(),
        input: places(Some(&old.input_schema), Some(&new.input_schema)),
        output: places(old.output_schema.as_ref(), new.output_schema.as_ref()),
    })
}

fn required(schema: &Value) -> BTreeSet<String> {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn places(old: Option<&Value>, new: Option<&Value>) -> SchemaPlaces {
    let mut found = SchemaPlaces::default();
    match (old, new) {
        (Some(old), Some(new)) => schemas::compare(old, new, &mut found),
        (None, None) => {}
        (Some(_), None) => found.add("", SchemaChange::Removed, None),
        (None, Some(_)) => found.add("", SchemaChange::Added, None),
    }
    found
}

impl SchemaPlaces {
    /// Whether the schemas are the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn add(&mut self, at: &str, how: SchemaChange, effect: Option<SchemaEffect>) {
        if self.places.len() < MAX_SCHEMA_PLACES {
            self.places.push(SchemaPlace { at: at.to_owned(), how, effect });
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(name: &str, schema: &Value) -> Definition {
        serde_json::from_value(json!({"name": name, "description": "d", "input_schema": schema})).unwrap()
    }

    #[test]
    fn changed_schemas_name_what_has_to_be_given_now_and_where_they_differ() {
        let old = [
            definition("gone", &json!({})),
            definition("same", &json!({"type": "object"})),
            definition("read", &json!({"properties": {"a/b": {"type": "string"}}, "required": ["a/b"]})),
        ];
        let new = [
            definition("same", &json!({"type": "object"})),
            definition(
                "read",
                &json!({"properties": {"a/b": {"type": "integer"}, "c": {}}, "required": ["c"]}),
            ),
            definition("write", &json!({})),
        ];
        let found = tools(&old, &new);
        assert_eq!((found.added, found.removed), (vec!["write".to_owned()], vec!["gone".to_owned()]));
        let [read] = found.changed.as_slice() else { panic!("{:?}", found.changed) };
        assert_eq!(
            (read.newly_required.as_slice(), read.no_longer_required.as_slice()),
            (["c".to_owned()].as_slice(), ["a/b".to_owned()].as_slice())
        );
        let places: Vec<_> = read.input.places.iter().map(|place| (place.at.as_str(), place.how)).collect();
        assert_eq!(
            places,
            [
                ("/properties/a~1b/type", SchemaChange::Changed),
                ("/properties/c", SchemaChange::Added),
                ("/required", SchemaChange::Changed),
            ]
        );
        assert!(read.output.is_empty() && read.description.is_none() && !read.hints);
    }

    #[test]
    fn a_schema_with_very_many_changes_is_counted_and_not_listed_whole() {
        let wide = |value: u32| json!({"properties": Value::Object((0..200).map(|n| (n.to_string(), json!({"maximum": value}))).collect())});
        let found = places(Some(&wide(1)), Some(&wide(2)));
        assert_eq!((found.places.len(), found.left_out), (MAX_SCHEMA_PLACES, 150));
    }
}

//! JSON Schemas (2020-12) of arguments and results, made from Rust types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema of a type that is read; everything it needs stands inside of it.
pub(crate) fn read<T: JsonSchema>() -> Value {
    finish(settings().for_deserialize().into_generator().into_root_schema_for::<T>())
}

/// The schema of a result.
pub(crate) fn of_result<T: JsonSchema>() -> Value {
    finish(settings().for_serialize().into_generator().into_root_schema_for::<T>())
}

/// The schema of a type whose fields are the parameters of a function.
#[must_use]
pub fn of_arguments<T: JsonSchema>() -> Value {
    let mut schema = read::<T>();
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
    }
    schema
}

/// The schema of a type that is the arguments of a function; model vendors want `type` at the root.
pub(crate) fn of_whole<T: JsonSchema>() -> Value {
    let mut schema = read::<T>();
    if let Some(object) = schema.as_object_mut()
        && !object.contains_key("type")
    {
        object.insert("type".into(), "object".into());
    }
    schema
}

/// The schema of a function without parameters.
#[must_use]
pub fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// The schema of an object with one property.
pub(crate) fn of_one<T: JsonSchema>(name: &str, description: Option<&str>, optional: bool) -> Value {
    let mut generator = settings().for_deserialize().into_generator();
    let mut property = generator.subschema_for::<T>();
    if let Some(description) = description {
        property.insert("description".into(), description.into());
    }
    let mut properties = Map::new();
    properties.insert(name.into(), property.to_value());
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !optional {
        schema.insert("required".into(), json!([name]));
    }
    schema.insert("additionalProperties".into(), false.into());
    let parts = generator.take_definitions(true);
    if !parts.is_empty() {
        schema.insert("$defs".into(), parts.into());
    }
    schema.into()
}

/// Whether every value the schema allows is an object with fields that have names.
pub(crate) fn has_named_fields(schema: &Value) -> bool {
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)?.as_array());
    match alternatives {
        Some(all) => !all.is_empty() && all.iter().all(has_named_fields),
        None => {
            schema.get("type").and_then(Value::as_str) == Some("object") && schema.get("properties").is_some()
        }
    }
}

/// Parts stand where they are used, since some model vendors do not follow references; what recurses
/// keeps a reference into its own `$defs`.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    })
}

/// The name of a Rust type tells a model nothing.
fn finish(mut schema: Schema) -> Value {
    schema.remove("title");
    schema.to_value()
}

//! Characters in the text of a tool that a reader does not see and a model does.

use std::collections::BTreeMap;

use hotcell_core::text::steers;
use hotcell_core::tool::Definition;
use serde_json::Value;

/// How many invisible, reordering or control characters each tool's text has; tools without any are left out.
///
/// Counts names of arguments and everything else the author writes. Line feeds and tabs are no secret.
#[must_use]
pub fn hidden_characters(definitions: &[Definition]) -> BTreeMap<String, usize> {
    let counts =
        definitions.iter().map(|definition| (definition.name.to_string(), in_definition(definition)));
    counts.filter(|(_, count)| *count > 0).collect()
}

fn in_definition(definition: &Definition) -> usize {
    let texts = in_text(&definition.description) + definition.title.as_deref().map_or(0, in_text);
    let values = std::iter::once(&definition.input_schema).chain(&definition.output_schema);
    texts + values.chain(&definition.examples).map(in_value).sum::<usize>()
}

fn in_text(text: &str) -> usize {
    text.chars().filter(|c| steers(*c) && !matches!(c, '\n' | '\t')).count()
}

/// Values of definitions were parsed from JSON, whose reader bounds how deep they are.
fn in_value(value: &Value) -> usize {
    match value {
        Value::String(text) => in_text(text),
        Value::Array(elements) => elements.iter().map(in_value).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| in_text(key) + in_value(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hidden_characters_are_counted_wherever_the_author_can_put_them() {
        let tool = |name: &str, description: &str, schema: Value| -> Definition {
            serde_json::from_value(json!({"name": name, "description": description, "input_schema": schema}))
                .unwrap()
        };
        let found = hidden_characters(&[
            tool("clean", "two\nlines\tü 日本", json!({"type": "object"})),
            tool("tags", "reads\u{e0041}\u{e0042}", json!({"type": "object"})),
            tool("deep", "d", json!({"properties": {"a\u{200b}": {"enum": ["\u{202e}x", 1]}}})),
        ]);
        assert_eq!(found, [("deep".to_owned(), 2), ("tags".to_owned(), 2)].into());
    }
}

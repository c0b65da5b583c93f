use serde_json::json;

use super::*;
use crate::inspect::inspect;

fn component() -> Vec<u8> {
    wat::parse_str(
        r#"(component
            (core module $m (func (export "run")))
            (core instance $i (instantiate $m))
            (func (export "run") (canon lift (core func $i "run"))))"#,
    )
    .unwrap()
}

fn definition(name: &str) -> Definition {
    // Numbers as canonical JSON has them, so that what is read back is equal.
    serde_json::from_value(json!({
        "name": name,
        "description": "Says \u{e9} and 1e3.",
        "input_schema": {"type": "object", "properties": {"z": {"maximum": 1000}, "a": {}}},
        "examples": [{"a": 0.1}],
    }))
    .unwrap()
}

/// The component with a section of exactly this content.
fn with_section(content: &[u8]) -> Vec<u8> {
    replace_custom(&component(), SECTION, content).unwrap()
}

fn section_bytes(component: &[u8]) -> Vec<u8> {
    find_sections(component, SECTION).unwrap().first.unwrap().to_vec()
}

fn fault(component: &[u8]) -> DefinitionsError {
    match read_definitions(component) {
        Err(LoadError::Definitions(fault)) => fault,
        other => panic!("expected a fault of the section, found {other:?}"),
    }
}

#[test]
fn embedded_definitions_are_read_back_and_the_component_stays_valid() {
    let tools = [definition("one"), definition("two")];
    assert_eq!(read_definitions(&component()), Ok(None));
    let embedded = embed_definitions(&component(), &tools).unwrap();
    assert_eq!(read_definitions(&embedded).unwrap().unwrap(), tools);
    wasmparser::Validator::new().validate_all(&embedded).unwrap();
    assert_eq!(inspect(&embedded).unwrap().definitions.unwrap(), tools);
}

#[test]
fn embedding_again_replaces_what_was_there_even_when_it_was_broken() {
    let tools = [definition("new")];
    let twice = {
        let mut bytes = with_section(b"not json");
        let section = bytes[component().len()..].to_vec();
        bytes.extend_from_slice(&section);
        bytes
    };
    assert_eq!(fault(&twice), DefinitionsError::Several { found: 2 });
    let fresh = embed_definitions(&component(), &tools).unwrap();
    assert_eq!(embed_definitions(&twice, &tools).unwrap(), fresh);
    assert_eq!(embed_definitions(&fresh, &tools).unwrap(), fresh);
}

#[test]
fn the_section_is_canonical_json_whatever_the_order_of_keys() {
    let embedded = embed_definitions(&component(), &[definition("t")]).unwrap();
    let text = String::from_utf8(section_bytes(&embedded)).unwrap();
    assert_eq!(
        text,
        "[{\"description\":\"Says é and 1e3.\",\"examples\":[{\"a\":0.1}],\"hints\":{},\
         \"input_schema\":{\"properties\":{\"a\":{},\"z\":{\"maximum\":1000}},\"type\":\"object\"},\"name\":\"t\"}]"
    );
    let spelled_otherwise: Definition = serde_json::from_value(json!({
        "input_schema": {"properties": {"a": {}, "z": {"maximum": 1e3}}, "type": "object"},
        "examples": [{"a": 1e-1}],
        "description": "Says \u{e9} and 1e3.",
        "name": "t",
    }))
    .unwrap();
    assert_eq!(embed_definitions(&component(), &[spelled_otherwise]).unwrap(), embedded);
    assert_eq!(fault(&with_section(format!("{text} ").as_bytes())), DefinitionsError::NotCanonical);
    let doubled = text.replacen("\"name\":\"t\"", "\"name\":\"s\",\"name\":\"t\"", 1);
    assert_eq!(fault(&with_section(doubled.as_bytes())), DefinitionsError::NotCanonical);
}

#[test]
fn a_section_inside_of_a_nested_component_does_not_count() {
    let inner = embed_definitions(&component(), &[definition("inner")]).unwrap();
    let mut outer = component();
    outer.push(4);
    let mut length = inner.len();
    while length >= 0x80 {
        outer.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    outer.push(u8::try_from(length).unwrap());
    outer.extend_from_slice(&inner);
    assert_eq!(fault(&outer), DefinitionsError::Nested);
    let tools = [definition("outer")];
    let embedded = embed_definitions(&outer, &tools).unwrap();
    assert_eq!(read_definitions(&embedded).unwrap().unwrap(), tools);
}

#[test]
fn what_is_not_a_list_of_definitions_is_refused_with_its_reason() {
    for bad in [
        b"".as_slice(),
        b"{}",
        b"[1]",
        b"\xff",
        br#"[{"description":"","input_schema":{"type":"object"},"name":"bad name"}]"#,
        br#"[{"description":"","name":"no_schema"}]"#,
        &[b'['; 10_000],
    ] {
        let fault = fault(&with_section(bad));
        assert!(matches!(fault, DefinitionsError::NotDefinitions { .. }), "{fault:?}");
        assert!(fault.to_string().chars().count() < 400, "{fault}");
    }
    assert_eq!(fault(&with_section(b"[]")), DefinitionsError::Count { found: 0 });
    let large = format!("[\"{}\"]", "x".repeat(MAX_SECTION_BYTES));
    assert!(matches!(fault(&with_section(large.as_bytes())), DefinitionsError::TooLarge { .. }));
}

#[test]
fn names_are_unique_and_schemas_are_objects() {
    let refused = |tools: &[Definition]| match embed_definitions(&component(), tools) {
        Err(LoadError::Definitions(fault)) => fault,
        other => panic!("expected a fault, found {other:?}"),
    };
    assert_eq!(
        refused(&[definition("same"), definition("same")]),
        DefinitionsError::DuplicateName { name: "same".into() }
    );
    assert_eq!(refused(&[]), DefinitionsError::Count { found: 0 });
    for schema in
        [json!(true), json!("object"), json!({}), json!({"type": "string"}), json!({"type": ["object"]})]
    {
        let tool = Definition { input_schema: schema.clone(), ..definition("t") };
        let fault = refused(&[tool]);
        assert!(matches!(fault, DefinitionsError::Schema { .. }), "{schema}: {fault:?}");
    }
    let tool = Definition { output_schema: Some(json!([])), ..definition("t") };
    assert!(refused(&[tool]).to_string().contains("output schema"));
    let tool = Definition { description: "x".repeat(MAX_SECTION_BYTES), ..definition("t") };
    assert!(matches!(refused(&[tool]), DefinitionsError::TooLarge { .. }));
}

#[test]
fn only_components_are_given_definitions() {
    let tools = [definition("t")];
    let module = wat::parse_str("(module)").unwrap();
    assert!(matches!(embed_definitions(&module, &tools), Err(LoadError::NotComponent { .. })));
    assert_eq!(embed_definitions(b"", &tools), Err(LoadError::Empty));
    let cut = component();
    let cut = &cut[..cut.len() - 3];
    assert!(matches!(embed_definitions(cut, &tools), Err(LoadError::Truncated { .. })));
}

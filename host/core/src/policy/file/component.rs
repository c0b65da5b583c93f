//! One table `[components.NAME]`.

use std::collections::{BTreeMap, BTreeSet};

use super::grants;
use super::limits::{LIMIT_KEYS, flat, nested, permission};
use super::problem::quote;
use super::reader::{Fields, Node, Reader};
use super::words::hint;
use crate::ids::{MAX_ID_BYTES, ToolName};
use crate::policy::{ComponentPolicy, ToolPolicy};

const KEYS: &[&str] =
    &["source", "digest", "expose", "prefix", "rename", "permission", "limits", "grants", "tools"];

const TOOL_NAME: &str = "a tool name of 1 to 64 letters a-z and A-Z, digits, `_` and `-`";

/// Reads one component; its name is the key.
pub(super) fn read(reader: &mut Reader, node: &Node<'_>) -> Option<(String, ComponentPolicy)> {
    if node.key.is_empty() || node.key.len() > MAX_ID_BYTES || node.key.chars().any(crate::text::steers) {
        let expected = "a component name of 1 to 256 bytes without control characters";
        reader.wrong_key(
            node,
            expected,
            format!("`{}`", quote(&node.key)),
            "give the component another name",
        );
    }
    let fields = reader.fields(node, KEYS)?;
    let policy = ComponentPolicy {
        source: source(reader, &fields).map(Into::into),
        digest: digest(reader, &fields),
        expose: expose(reader, &fields),
        prefix: prefix(reader, &fields),
        rename: rename(reader, &fields),
        grants: grants::read(reader, &fields),
        permission: permission(reader, &fields),
        limits: nested(reader, &fields),
        tools: tools(reader, &fields),
    };
    check_exposed(reader, &fields, &policy);
    check_names(reader, &fields, &policy);
    Some((node.key.clone(), policy))
}

fn source<'a>(reader: &mut Reader, fields: &Fields<'a>) -> Option<&'a str> {
    let node = fields.get("source")?;
    let expected = "the path of a component, such as \"tools/notes.wasm\"";
    let text = reader.text(&node, expected, "write the path in double quotes")?;
    if text.is_empty() || text.contains('\0') {
        reader.wrong(&node, expected, "write the path, or leave the key out");
    } else if text.contains("://") {
        reader.wrong(&node, expected, "addresses are not available in this version; name a file");
    }
    Some(text)
}

fn digest(reader: &mut Reader, fields: &Fields<'_>) -> Option<crate::ids::Digest> {
    let node = fields.get("digest")?;
    let expected = "\"sha256:\" and 64 hexadecimal digits";
    let help = "copy the digest that `hotcell tool inspect FILE` prints";
    let digest = reader.text(&node, expected, help)?.parse().ok();
    if digest.is_none() {
        reader.wrong(&node, expected, help);
    }
    digest
}

fn expose(reader: &mut Reader, fields: &Fields<'_>) -> Option<Vec<String>> {
    let node = fields.get("expose")?;
    let help = "write an array, such as `expose = [\"list\", \"read\"]`; leave it out to offer all tools";
    let mut names = BTreeSet::new();
    let mut ordered = Vec::new();
    for node in reader.array(&node, "an array of tool names", help) {
        let Some(name) = tool_name(reader, &node) else { continue };
        if names.insert(name.clone()) {
            ordered.push(name.into());
        } else {
            reader.wrong(&node, "each tool once", "remove the second one");
        }
    }
    Some(ordered)
}

fn tool_name(reader: &mut Reader, node: &Node<'_>) -> Option<ToolName> {
    let help = "write the name in double quotes";
    let name = ToolName::parse(reader.text(node, TOOL_NAME, help)?).ok();
    if name.is_none() {
        reader.wrong(node, TOOL_NAME, "no tool can have this name; `hotcell tool inspect FILE` lists them");
    }
    name
}

fn prefix(reader: &mut Reader, fields: &Fields<'_>) -> Option<String> {
    let node = fields.get("prefix")?;
    let expected = "a prefix of 1 to 63 letters a-z and A-Z, digits, `_` and `-`";
    let text = reader.text(&node, expected, "write the prefix in double quotes")?;
    // With one more character the prefix is a whole name, so both obey one rule.
    if text.is_empty() || ToolName::parse(format!("{text}x")).is_err() {
        reader.wrong(&node, expected, "model vendors accept no other characters in a tool name");
        return None;
    }
    Some(text.into())
}

fn rename(reader: &mut Reader, fields: &Fields<'_>) -> BTreeMap<String, ToolName> {
    let Some(fields) = fields
        .get("rename")
        .and_then(|node| reader.map(&node, "a table of new names, such as `{ list = \"list_notes\" }`"))
    else {
        return BTreeMap::new();
    };
    fields
        .each()
        .filter_map(|node| {
            check_key(reader, &node);
            Some((node.key.clone(), tool_name(reader, &node)?))
        })
        .collect()
}

fn tools(reader: &mut Reader, fields: &Fields<'_>) -> BTreeMap<String, ToolPolicy> {
    let expected = "a table of tools, such as `tools.write = { permission = \"ask\" }`";
    let Some(fields) = fields.get("tools").and_then(|node| reader.map(&node, expected)) else {
        return BTreeMap::new();
    };
    let known: Vec<_> = ["permission"].into_iter().chain(LIMIT_KEYS).collect();
    fields
        .each()
        .filter_map(|node| {
            check_key(reader, &node);
            let fields = reader.fields(&node, &known)?;
            let policy =
                ToolPolicy { permission: permission(reader, &fields), limits: flat(reader, &fields) };
            Some((node.key.clone(), policy))
        })
        .collect()
}

fn check_key(reader: &mut Reader, node: &Node<'_>) {
    if ToolName::parse(node.key.as_str()).is_err() {
        let help = "no tool can have this name; `hotcell tool inspect FILE` lists them";
        reader.wrong_key(node, TOOL_NAME, format!("`{}`", quote(&node.key)), help);
    }
}

/// An entry for a tool that is not offered is most likely a misspelt name.
fn check_exposed(reader: &mut Reader, fields: &Fields<'_>, policy: &ComponentPolicy) {
    let Some(exposed) = &policy.expose else { return };
    let names: BTreeSet<_> = exposed.iter().map(String::as_str).collect();
    let list: Vec<_> = names.iter().copied().collect();
    for fields in ["tools", "rename"].iter().filter_map(|table| fields.table(table)) {
        for node in fields.each().filter(|node| !names.contains(node.key.as_str())) {
            let found = format!("`{}`", quote(&node.key));
            let help = hint(&node.key, &list, "add it to `expose`, or remove this entry");
            reader.wrong_key(&node, "a tool that `expose` names", found, &help);
        }
    }
}

/// Checks the names that models will see, as far as the file alone tells them.
fn check_names(reader: &mut Reader, fields: &Fields<'_>, policy: &ComponentPolicy) {
    let own: BTreeSet<_> = match &policy.expose {
        Some(exposed) => exposed.iter().collect(),
        None => policy.tools.keys().chain(policy.rename.keys()).collect(),
    };
    let mut offered = BTreeMap::new();
    for own in own {
        match policy.offered_name(own) {
            Err(error) => {
                if let Some(node) = fields.get("prefix") {
                    let help = format!("with it, tool `{}` has no legal name: {error}", quote(own));
                    reader.wrong(&node, "a prefix that leaves every name legal", &help);
                }
            }
            Ok(name) => {
                if let Some(other) = offered.insert(name.clone(), own) {
                    let (Some(node), expected) = (fields.get("rename"), "a name of its own for each tool")
                    else {
                        continue;
                    };
                    let found = format!("`{name}` for both `{other}` and `{own}`");
                    reader.wrong_key(&node, expected, found, "give one of them another name");
                }
            }
        }
    }
}

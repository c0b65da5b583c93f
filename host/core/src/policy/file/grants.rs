//! The table `grants` of a component.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::{Fields, Node, Reader};
use crate::grant::{Access, FileGrant, Grants, check_env, check_guest_path};

const ACCESS: &[(&str, Access)] = &[("read-only", Access::ReadOnly), ("read-write", Access::ReadWrite)];

/// Grants that have a name already and nothing behind it yet; ignoring one would be a lie.
const LATER: [&str; 3] = ["http", "secrets", "state"];

const FILES_HELP: &str =
    "write `grants.files = [{ host = \"./data\", guest = \"/data\", access = \"read-only\" }]`";

/// Reads the key `grants` of a component.
pub(super) fn read(reader: &mut Reader, component: &Fields<'_>) -> Grants {
    let Some(fields) =
        component.get("grants").and_then(|node| reader.map(&node, "a table with `env` or `files`"))
    else {
        return Grants::default();
    };
    for node in fields.each().filter(|node| LATER.contains(&node.key.as_str())) {
        let found = format!("`{}`, which is not available in this version", node.key);
        reader.wrong_key(&node, "`env` or `files`", found, "remove it; the component gets no such access");
    }
    reader.refuse_unknown_except(&fields, &["files", "env"], &LATER);
    Grants { files: files(reader, &fields), env: env(reader, &fields) }
}

fn files(reader: &mut Reader, fields: &Fields<'_>) -> Vec<FileGrant> {
    let Some(node) = fields.get("files") else { return Vec::new() };
    let elements = reader.array(&node, "an array of directories", FILES_HELP);
    let mut seen = BTreeSet::new();
    elements.iter().filter_map(|node| file(reader, node, &mut seen)).collect()
}

fn file(reader: &mut Reader, node: &Node<'_>, seen: &mut BTreeSet<String>) -> Option<FileGrant> {
    let fields = reader.fields(node, &["host", "guest", "access"])?;
    let host = required(reader, &fields, "host", "a directory of the host, such as \"./data\"").filter(
        |(node, host)| {
            let good = !host.is_empty() && !host.contains('\0');
            if !good {
                reader.wrong(node, "a directory of the host, such as \"./data\"", "write the path");
            }
            good
        },
    );
    let guest = required(reader, &fields, "guest", "a path of the guest, such as \"/data\"");
    let access = match fields.get("access") {
        Some(node) => reader.word(&node, ACCESS),
        None => Some(Access::ReadOnly),
    };
    let guest = guest.and_then(|(node, guest)| check_guest(reader, &node, guest, seen));
    Some(FileGrant { host: host?.1.into(), guest: guest?, access: access? })
}

fn check_guest(
    reader: &mut Reader,
    node: &Node<'_>,
    guest: &str,
    seen: &mut BTreeSet<String>,
) -> Option<String> {
    if check_guest_path(guest).is_err() {
        let expected = "an absolute path of the guest, such as \"/data\"";
        reader.wrong(
            node,
            expected,
            "start with `/`, leave out `.`, `..`, empty parts and a slash at the end",
        );
        return None;
    }
    if !seen.insert(guest.into()) {
        reader.wrong(
            node,
            "a guest path that is not granted already",
            "give each directory its own guest path",
        );
        return None;
    }
    Some(guest.into())
}

fn required<'a>(
    reader: &mut Reader,
    fields: &Fields<'a>,
    key: &str,
    expected: &str,
) -> Option<(Node<'a>, &'a str)> {
    let Some(node) = fields.get(key) else {
        reader.missing(fields, key, FILES_HELP);
        return None;
    };
    let text = reader.text(&node, expected, "write the path in double quotes")?;
    Some((node, text))
}

fn env(reader: &mut Reader, fields: &Fields<'_>) -> BTreeMap<String, String> {
    let Some(fields) = fields
        .get("env")
        .and_then(|node| reader.map(&node, "a table of variables, such as `{ LANG = \"C\" }`"))
    else {
        return BTreeMap::new();
    };
    let variable = |node: Node<'_>| {
        let text = reader.text(&node, "a string", "put the value in double quotes")?;
        if check_env(&node.key, text).is_err() {
            let found = "a name or value that no environment can hold".into();
            reader.wrong_key(
                &node,
                "a variable",
                found,
                "leave out NUL and, in the name, `=`; a name is not empty",
            );
            return None;
        }
        Some((node.key.clone(), text.to_owned()))
    };
    fields.each().filter_map(variable).collect()
}

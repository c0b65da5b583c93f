//! Permissions and limits, which stand in several tables with the same keys.

use std::time::Duration;

use super::reader::{Fields, Node, Reader};
use crate::limits::LimitOverrides;
use crate::policy::Permission;
use crate::units::{parse_bytes, parse_duration};

/// The keys of a table of limits.
pub(super) const LIMIT_KEYS: [&str; 5] = ["timeout", "memory", "fuel", "table_elements", "result"];

const PERMISSIONS: &[(&str, Permission)] = &[
    ("auto", Permission::Auto),
    ("allow", Permission::Allow),
    ("ask", Permission::Ask),
    ("deny", Permission::Deny),
];

/// The key `permission` of the table.
pub(super) fn permission(reader: &mut Reader, fields: &Fields<'_>) -> Option<Permission> {
    fields.get("permission").and_then(|node| reader.word(&node, PERMISSIONS))
}

/// The key `limits` of the table.
pub(super) fn nested(reader: &mut Reader, fields: &Fields<'_>) -> LimitOverrides {
    fields
        .get("limits")
        .and_then(|node| reader.fields(&node, &LIMIT_KEYS))
        .map(|fields| flat(reader, &fields))
        .unwrap_or_default()
}

/// The limits that stand in the table itself.
pub(super) fn flat(reader: &mut Reader, fields: &Fields<'_>) -> LimitOverrides {
    let bytes = "a size, such as \"64MiB\"";
    let mut number = |key, most| fields.get(key).and_then(|node| count(reader, &node, most));
    let fuel = number("fuel", i64::MAX.unsigned_abs());
    let table_elements = number("table_elements", u64::from(u32::MAX));
    LimitOverrides {
        timeout: fields.get("timeout").and_then(|node| duration(reader, &node)),
        memory_bytes: fields.get("memory").and_then(|node| unit(reader, &node, bytes, parse_bytes)),
        fuel,
        table_elements: table_elements.and_then(|count| u32::try_from(count).ok()),
        result_bytes: fields.get("result").and_then(|node| unit(reader, &node, bytes, parse_bytes)),
    }
}

/// A duration such as `"10s"`.
pub(super) fn duration(reader: &mut Reader, node: &Node<'_>) -> Option<Duration> {
    unit(reader, node, "a duration, such as \"10s\"", parse_duration)
}

fn unit<T, E>(
    reader: &mut Reader,
    node: &Node<'_>,
    expected: &str,
    parse: fn(&str) -> Result<T, E>,
) -> Option<T> {
    let help = match expected.strip_prefix("a size") {
        Some(_) => "write a whole number greater than 0 and a unit in quotes: B, KiB, MiB or GiB",
        None => "write a whole number greater than 0 and a unit in quotes: ms, s, m or h",
    };
    let text = reader.text(node, expected, help)?;
    let value = parse(text).ok();
    if value.is_none() {
        reader.wrong(node, expected, help);
    }
    value
}

fn count(reader: &mut Reader, node: &Node<'_>, most: u64) -> Option<u64> {
    let expected = format!("a whole number from 1 to {most}");
    let help = "write the number without quotes and without a unit";
    let number = reader.integer(node, &expected, help)?;
    let count = u64::try_from(number).ok().filter(|count| (1..=most).contains(count));
    if count.is_none() {
        reader.wrong(node, &expected, help);
    }
    count
}

//! The table `[compile]`.

use super::reader::{Node, Reader};
use crate::policy::{CompilePolicy, Isolation};

const ISOLATIONS: &[(&str, Isolation)] = &[
    (Isolation::Required.word(), Isolation::Required),
    (Isolation::BestEffort.word(), Isolation::BestEffort),
];

/// Reads `[compile]`.
pub(super) fn read(reader: &mut Reader, node: &Node<'_>) -> CompilePolicy {
    let fields = reader.fields(node, &["isolation"]);
    let isolation = fields.and_then(|fields| fields.get("isolation"));
    CompilePolicy { isolation: isolation.and_then(|node| reader.word(&node, ISOLATIONS)).unwrap_or_default() }
}

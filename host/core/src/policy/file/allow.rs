//! The policy line that would allow a tool.

use std::fmt;

use toml::de::{DeTable, DeValue};

use super::PolicyFile;
use super::problem::position;
use super::words::quote_key;
use crate::policy::Permission;

/// The setting that allows one tool of one component without asking, as one line of TOML.
///
/// The line is complete: it is valid where no table has been opened yet.
/// [`PolicyFile::allow_change`] says what to do to a file that has tables already.
///
/// ```
/// use hotcell_core::policy::file::allow_line;
///
/// assert_eq!(allow_line("notes", "write"), r#"components.notes.tools.write.permission = "allow""#);
/// ```
#[must_use]
pub fn allow_line(component: &str, tool: &str) -> String {
    format!("{}.permission = \"allow\"", tool_path(component, tool))
}

fn tool_path(component: &str, tool: &str) -> String {
    format!("components.{}.tools.{}", quote_key(component), quote_key(tool))
}

/// How to change a policy file so that it allows one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowChange {
    /// These lines at the end of the file; they are valid there.
    Append(String),
    /// An entry that exists already needs this setting.
    Set {
        /// The line of the entry, from 1.
        line: usize,
        /// The setting, relative to the entry, as one line of TOML.
        setting: String,
    },
}

impl fmt::Display for AllowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append(lines) => write!(f, "append to the policy file:\n{}", lines.trim_end()),
            Self::Set { line, setting } => {
                write!(f, "in the entry of line {line} of the policy file, set:\n{setting}")
            }
        }
    }
}

/// Tries the lines at the end of the text; where an entry stands in their way, names its line instead.
pub(super) fn change(text: &str, component: &str, tool: &str) -> AllowChange {
    let lines = format!("[{}]\npermission = \"allow\"\n", tool_path(component, tool));
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let works = PolicyFile::parse(&format!("{text}{gap}{lines}"), "")
        .is_ok_and(|policy| policy.permission(Some(component), tool) == Permission::Allow);
    if works {
        return AllowChange::Append(lines);
    }
    entry_in_the_way(text, component, tool).unwrap_or(AllowChange::Append(lines))
}

/// The deepest entry on the way to the permission of the tool, and what is to be set inside of it.
fn entry_in_the_way(text: &str, component: &str, tool: &str) -> Option<AllowChange> {
    let path = ["components", component, "tools", tool, "permission"];
    let (root, _errors) = DeTable::parse_recoverable(text);
    let mut table = root.get_ref();
    let mut deepest = None;
    for (index, key) in path.iter().enumerate() {
        let Some((found, value)) = table.get_key_value(*key) else { break };
        // The last key is the setting itself; above it, the setting goes into the table that was found.
        let rest = path.iter().skip((index + 1).min(path.len() - 1));
        let rest: Vec<_> = rest.map(|key| quote_key(key)).collect();
        deepest = Some((found.span().start, rest.join(".")));
        let DeValue::Table(inner) = value.get_ref() else { break };
        table = inner;
    }
    let (at, key) = deepest?;
    Some(AllowChange::Set { line: position(text, at).0, setting: format!("{key} = \"allow\"") })
}

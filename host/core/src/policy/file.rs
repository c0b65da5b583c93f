//! The policy file: TOML text in, a checked [`Policy`] or every problem of the text out.
//!
//! The file is refused as a whole: a key nobody reads could be a limit somebody relies on.
//! Paths are kept as they are written; [`Policy::resolved_at`] puts them under the folder of the file.

mod allow;
mod compile;
mod component;
mod grants;
mod limits;
mod places;
mod problem;
mod reader;
mod run;
mod syntax;
mod words;

pub use allow::{AllowChange, allow_line};
pub use places::{Place, Places, key_path, quoted};
pub use problem::{MAX_PROBLEMS, PolicyErrors, Problem};

use toml::de::DeTable;

use self::problem::Problems;
use self::reader::{Fields, Reader};
use crate::policy::{DefaultPolicy, Policy};

/// Longest policy file in bytes; a longer one is refused before it is read.
pub const MAX_POLICY_BYTES: usize = 1 << 20;

/// The version this reader understands.
const VERSION: i128 = 1;

const ROOT_KEYS: &[&str] = &["version", "defaults", "components", "run", "compile"];

/// Reads policy files.
#[derive(Debug, Clone, Copy)]
pub struct PolicyFile;

impl PolicyFile {
    /// Reads the text of a policy file; `name` is what errors call it, usually its path.
    ///
    /// ```
    /// use hotcell_core::policy::file::PolicyFile;
    ///
    /// let policy = PolicyFile::parse("version = 1\n[run]\nmax_time = \"10m\"\n", "policy.toml")?;
    /// assert_eq!(policy.run.max_time, Some(std::time::Duration::from_secs(600)));
    ///
    /// let errors = PolicyFile::parse("version = 1\n[rum]\n", "policy.toml").unwrap_err();
    /// assert_eq!(errors.problems()[0].help, "did you mean `run`?");
    /// # Ok::<(), hotcell_core::policy::file::PolicyErrors>(())
    /// ```
    ///
    /// # Errors
    /// All problems of the text together, in the order of the text; at most [`MAX_PROBLEMS`] are kept
    /// and the rest is counted.
    pub fn parse(text: &str, name: &str) -> Result<Policy, PolicyErrors> {
        let mut problems = Problems::default();
        if let Err(place) = syntax::check_size_and_depth(text, &mut problems) {
            return Err(problems.finish(text.get(..place).unwrap_or_default(), name));
        }
        let (root, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            syntax::report(error, &mut problems);
        }
        let mut reader = Reader::new(problems);
        let policy = read_root(&mut reader, root.get_ref());
        let problems = reader.into_problems();
        if problems.is_empty() { Ok(policy) } else { Err(problems.finish(text, name)) }
    }

    /// Where the keys of this text stand.
    #[must_use]
    pub fn places(text: &str) -> Places {
        Places::of(text)
    }

    /// The JSON Schema (2020-12) of policy files, for editors.
    ///
    /// It says less than the reader does: no schema can tell that two grants name one place.
    #[must_use]
    pub const fn schema() -> &'static str {
        include_str!("file/schema.json")
    }

    /// The change of this text that would allow one tool without asking.
    #[must_use]
    pub fn allow_change(text: &str, component: &str, tool: &str) -> AllowChange {
        allow::change(text, component, tool)
    }
}

fn read_root(reader: &mut Reader, table: &DeTable<'_>) -> Policy {
    let root = Fields::root(table);
    reader.refuse_unknown(&root, ROOT_KEYS);
    match root.get("version") {
        None => {
            reader.missing(&root, "version", "write `version = 1` in the first line");
        }
        Some(node) => match reader.integer(&node, "the integer 1", "write `version = 1`") {
            Some(VERSION) | None => {}
            Some(_) => reader.wrong(&node, "version 1, the only one there is", "write `version = 1`"),
        },
    }
    let mut policy = Policy::default();
    if let Some(node) = root.get("defaults")
        && let Some(fields) = reader.fields(&node, &["permission", "limits"])
    {
        policy.defaults = DefaultPolicy {
            permission: limits::permission(reader, &fields),
            limits: limits::nested(reader, &fields),
        };
    }
    if let Some(node) = root.get("components")
        && let Some(fields) = reader.map(&node, "a table of components, such as `[components.notes]`")
    {
        policy.components = fields.each().filter_map(|node| component::read(reader, &node)).collect();
    }
    if let Some(node) = root.get("run") {
        policy.run = run::read(reader, &node);
    }
    if let Some(node) = root.get("compile") {
        policy.compile = compile::read(reader, &node);
    }
    policy
}

#[cfg(test)]
mod tests;

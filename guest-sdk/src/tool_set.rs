//! The tools of a component.

use crate::context::Context;
use crate::definition::Definition;
use crate::failure::Failure;
use crate::output::Output;

/// One tool; [`tool`](macro@crate::tool) implements it for a type with the name of the function.
#[diagnostic::on_unimplemented(
    message = "a function in `component!` is not a tool",
    label = "this function has no `#[hotcell_tool::tool]`",
    note = "write a doc comment and `#[hotcell_tool::tool]` above the function, or take it out of `component!`"
)]
pub trait Tool {
    /// The name a model calls.
    const NAME: &'static str;

    /// What a host and a model are told about the tool.
    fn definition() -> Definition;

    /// Runs the tool on arguments that are one JSON text.
    ///
    /// # Errors
    /// What the function reports, or `invalid_input` when the arguments do not fit its parameters.
    fn call(arguments: &str, context: &Context) -> Result<Output, Failure>;
}

/// One row of a [`ToolSet`].
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    name: &'static str,
    definition: fn() -> Definition,
    call: fn(&str, &Context) -> Result<Output, Failure>,
}

impl Entry {
    /// The row of this tool.
    #[must_use]
    pub const fn of<T: Tool>() -> Self {
        Self { name: T::NAME, definition: T::definition, call: T::call }
    }
}

/// The tools of a component in their order; [`component!`](crate::component) makes one as `TOOLS`.
#[derive(Debug, Clone, Copy)]
pub struct ToolSet {
    entries: &'static [Entry],
}

impl ToolSet {
    /// Tools in this order.
    ///
    /// # Panics
    /// While compiling, when two tools have the same name.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(entries: &'static [Entry]) -> Self {
        let mut i = 0;
        while i < entries.len() {
            let mut j = i + 1;
            while j < entries.len() {
                assert!(
                    !same(entries[i].name, entries[j].name),
                    "two tools of this component have the same name; give one of them another with `#[tool(name = \"..\")]`"
                );
                j += 1;
            }
            i += 1;
        }
        Self { entries }
    }

    /// What a host and a model are told about the tools.
    #[must_use]
    pub fn definitions(&self) -> Vec<Definition> {
        self.entries.iter().map(|entry| (entry.definition)()).collect()
    }

    /// Runs one tool on arguments that are one JSON text.
    ///
    /// # Errors
    /// What the tool reports, `invalid_input` when the arguments do not fit, or `not_found` when there
    /// is no tool of this name.
    pub fn call(&self, name: &str, arguments: &str, context: &Context) -> Result<Output, Failure> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else {
            let known: Vec<&str> = self.entries.iter().map(|entry| entry.name).collect();
            return Err(Failure::not_found(format!("this component has no tool `{name}`"))
                .code("unknown_tool")
                .advice(format!("call one of: {}", known.join(", "))));
        };
        (entry.call)(arguments, context)
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

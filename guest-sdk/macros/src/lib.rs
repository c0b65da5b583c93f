//! The macros of `hotcell-tool`; use that crate.
//!
//! What comes in: functions and lists of functions. What goes out: the same functions, and beside each a
//! type of the same name that implements `hotcell_tool::Tool`.

mod component;
mod expand;
mod json;
mod options;
mod signature;

use proc_macro::TokenStream;

/// Makes a function a tool.
///
/// The function stays as it is and can be called as before.
/// Its doc comment is what a model reads about the tool, so it is required.
///
/// **Parameters.** One parameter whose type is a struct is the whole object of arguments; everything else
/// becomes one property per parameter, named like the parameter, and unknown properties are refused.
/// The types need `serde::Deserialize` and `schemars::JsonSchema`, and own what they hold.
/// An `Option` may be left out. Doc comments, `#[serde(..)]` and `#[schemars(..)]` may stand at parameters.
/// A last parameter `&Context` receives the call id and what else is known of the call.
///
/// **Result.** `String` and `&str` are text, `()` is nothing, `Output` is itself, and any type with
/// `serde::Serialize` and `schemars::JsonSchema` is a structured result with an output schema.
/// A `Result` of one of these may fail with `Failure` or with any error that converts into it.
///
/// **Options**, all of them optional:
///
/// | option | meaning |
/// |---|---|
/// | `name = "count"` | the name a model calls, `[a-zA-Z0-9_-]{1,64}`; else the name of the function |
/// | `title = "Count words"` | a title for people |
/// | `read_only` | changes nothing |
/// | `destructive` | may destroy something; `destructive = false` says that it only adds |
/// | `idempotent` | calling twice is the same as calling once |
/// | `open_world` | touches the world beyond its own data |
/// | `timeout = "5s"` | how long a call should take at most: a whole number and `ms`, `s`, `m` or `h` |
/// | `example = r#"{"a": 1}"#` | example arguments, one JSON object; may be repeated |
///
/// ```
/// # use hotcell_tool::{Failure, tool};
/// /// Divide one number by another.
/// #[tool(read_only, idempotent, title = "Divide", timeout = "1s", example = r#"{"a": 6, "b": 3}"#)]
/// fn divide(
///     /// The number to divide.
///     a: f64,
///     /// What to divide by; 1 unless it is given.
///     b: Option<f64>,
/// ) -> Result<f64, Failure> {
///     match b.unwrap_or(1.0) {
///         0.0 => Err(Failure::invalid_input("`b` is zero").advice("send another number")),
///         b => Ok(a / b),
///     }
/// }
/// ```
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::tool(options.into(), &function.into()).into()
}

/// Makes a component of functions marked with `#[tool]`, in this order.
///
/// Stands once in a crate, at its root or in a module. It defines `pub const TOOLS: ToolSet` for tests and,
/// when the crate is compiled to WebAssembly, exports the tools.
///
/// ```
/// mod text {
///     /// Turn a text around.
///     #[hotcell_tool::tool(read_only)]
///     pub fn reverse(text: String) -> String {
///         text.chars().rev().collect()
///     }
/// }
///
/// hotcell_tool::component!(text::reverse);
/// # fn main() { assert_eq!(TOOLS.definitions().len(), 1); }
/// ```
///
/// Two tools cannot have the same name:
///
/// ```compile_fail
/// # use hotcell_tool::tool;
/// /// Add two numbers.
/// #[tool(read_only)]
/// fn add(a: i64, b: i64) -> i64 { a + b }
///
/// /// Add many numbers.
/// #[tool(read_only, name = "add")] // without the name it compiles
/// fn add_all(numbers: Vec<i64>) -> i64 { numbers.iter().sum() }
///
/// hotcell_tool::component!(add, add_all);
/// # fn main() {}
/// ```
#[proc_macro]
pub fn component(list: TokenStream) -> TokenStream {
    component::component(list.into()).into()
}

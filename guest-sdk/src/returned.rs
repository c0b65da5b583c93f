//! What a function returns, sorted by type while the macro's code is compiled.
//!
//! Rust has no specialisation, so the sorting uses the order in which a method call tries types:
//! `(&&&value).method()` prefers an implementation for `&&T` over one for `&T` over one for `T`.
//! The last one fits everything and carries a bound that nothing meets, whose message says what to do.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{IntoOutput, Output};
use crate::schema;

/// Stands for the return type of a function.
#[derive(Debug)]
pub struct Returned<R>(PhantomData<fn() -> R>);

impl<R> Returned<R> {
    /// Stands for the type that is written here.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R> Default for Returned<R> {
    fn default() -> Self {
        Self::new()
    }
}

/// Stands for the type of a value that was not a failure.
#[derive(Debug)]
pub struct Value<T>(PhantomData<fn() -> T>);

/// First choice: a `Result` is taken apart, and its error becomes a failure.
pub trait Split<T, E> {
    /// Stands for the value in the result.
    fn value(&self) -> Value<T>;

    /// Turns the error into a failure.
    ///
    /// # Errors
    /// When the function returned one.
    fn settle(&self, returned: Result<T, E>) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> Split<T, E> for &&Returned<Result<T, E>> {
    fn value(&self) -> Value<T> {
        Value(PhantomData)
    }

    fn settle(&self, returned: Result<T, E>) -> Result<T, Failure> {
        returned.map_err(Into::into)
    }
}

/// Second choice: an error that is no failure is reported with what to do.
pub trait Unclear<T, E> {
    /// Stands for the value in the result.
    fn value(&self) -> Value<T>;

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    fn settle(&self, returned: Result<T, E>) -> Result<T, Failure>
    where
        E: ToolError;
}

impl<T, E> Unclear<T, E> for &Returned<Result<T, E>> {
    fn value(&self) -> Value<T> {
        Value(PhantomData)
    }

    fn settle(&self, returned: Result<T, E>) -> Result<T, Failure>
    where
        E: ToolError,
    {
        returned.map_err(ToolError::never)
    }
}

/// Last choice: everything else is the value itself.
pub trait Plain<R> {
    /// Stands for the value.
    fn value(&self) -> Value<R>;

    /// Never fails.
    ///
    /// # Errors
    /// None.
    fn settle(&self, returned: R) -> Result<R, Failure>;
}

impl<R> Plain<R> for Returned<R> {
    fn value(&self) -> Value<R> {
        Value(PhantomData)
    }

    fn settle(&self, returned: R) -> Result<R, Failure> {
        Ok(returned)
    }
}

/// Nothing implements this; it exists for its message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "the error has no conversion into `hotcell_tool::Failure`",
    note = "return `Result<_, hotcell_tool::Failure>` and name the kind of each failure with `.or_fail(Fault::.., \"..\")?`",
    note = "or write `impl From<{Self}> for hotcell_tool::Failure`, which chooses the kind of failure in one place"
)]
pub trait ToolError {
    /// Cannot be called.
    fn never(self) -> Failure;
}

/// How a value is described and turned into a result.
#[derive(Debug)]
pub struct Writer<T> {
    /// The output schema.
    pub schema: fn() -> Option<serde_json::Value>,
    /// The result; fails when the value has no JSON form.
    pub output: fn(T) -> Result<Output, Failure>,
}

/// First choice: text and [`Output`] are results as they are.
pub trait Text<T> {
    /// How it is written.
    fn writer(&self) -> Writer<T>;
}

impl<T: IntoOutput> Text<T> for &&Value<T> {
    fn writer(&self) -> Writer<T> {
        Writer { schema: || None, output: |value| Ok(value.into_output()) }
    }
}

/// Second choice: what serialises and has a schema is structured.
pub trait Structured<T> {
    /// How it is written.
    fn writer(&self) -> Writer<T>;
}

impl<T: Serialize + JsonSchema> Structured<T> for &Value<T> {
    fn writer(&self) -> Writer<T> {
        Writer { schema: || Some(schema::of_result::<T>()), output: |value| Output::new().structured(&value) }
    }
}

/// Last choice: what fits nothing is reported with what to do.
pub trait Unfit<T> {
    /// Cannot be called.
    fn writer(&self) -> Writer<T>
    where
        T: ToolResult;
}

impl<T> Unfit<T> for Value<T> {
    fn writer(&self) -> Writer<T>
    where
        T: ToolResult,
    {
        T::never()
    }
}

/// Nothing implements this; it exists for its message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "neither text nor a value with a schema",
    note = "write `#[derive(serde::Serialize, schemars::JsonSchema)]` above `{Self}`, so that the result has a form and a schema",
    note = "or return a `String`, a `hotcell_tool::Output`, `()`, or a `Result` of one of these"
)]
pub trait ToolResult: Sized {
    /// Cannot be called.
    fn never() -> Writer<Self>;
}

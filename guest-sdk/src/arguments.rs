//! From one JSON text to what a function takes.

mod one;
mod shape;

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny};
use serde_json::Value;

use crate::failure::Failure;
use crate::schema;
use one::One;
use shape::takes_whole;

/// Reads arguments whose fields are the parameters of a function.
///
/// # Errors
/// `invalid_input` that names the place.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    decode_seed(PhantomData, text)
}

/// Stands for the type of the only parameter of a function.
#[derive(Debug)]
pub struct Arguments<T>(PhantomData<fn() -> T>);

impl<T> Arguments<T> {
    /// Stands for the type that is written here.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Arguments<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// How arguments are described and read.
#[derive(Debug)]
pub struct Reader<T> {
    /// The input schema, from the name and the description of the parameter.
    pub schema: fn(&str, Option<&str>) -> Value,
    /// Reads the arguments of a parameter with this name.
    pub decode: fn(&'static str, &str) -> Result<T, Failure>,
}

/// First choice (see the module `returned` for how choices work): types that can be read.
///
/// A struct is the arguments; anything else is one property with the name of the parameter.
pub trait Known<T> {
    /// How they are read.
    fn reader(&self) -> Reader<T>;
}

impl<T: DeserializeOwned + JsonSchema> Known<T> for &Arguments<T> {
    fn reader(&self) -> Reader<T> {
        Reader { schema: describe_one::<T>, decode: decode_one::<T> }
    }
}

/// Last choice: types that cannot be read, reported with what to do.
pub trait Unknown<T> {
    /// Cannot be called.
    fn reader(&self) -> Reader<T>
    where
        T: ToolArguments;
}

impl<T> Unknown<T> for Arguments<T> {
    fn reader(&self) -> Reader<T>
    where
        T: ToolArguments,
    {
        T::never()
    }
}

/// Nothing implements this; it exists for its message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    label = "cannot be read from JSON, or has no schema",
    note = "write `#[derive(serde::Deserialize, schemars::JsonSchema)]` above `{Self}`, so that arguments can be read and described",
    note = "both `serde` (with its feature `derive`) and `schemars` must be dependencies of the crate"
)]
pub trait ToolArguments: Sized {
    /// Cannot be called.
    fn never() -> Reader<Self>;
}

fn describe_one<T: DeserializeOwned + JsonSchema>(name: &str, description: Option<&str>) -> Value {
    if takes_whole::<T>() {
        schema::of_whole::<T>()
    } else {
        schema::of_one::<T>(name, description, shape::may_be_missing::<T>())
    }
}

fn decode_one<T: DeserializeOwned + JsonSchema>(name: &'static str, text: &str) -> Result<T, Failure> {
    if takes_whole::<T>() { decode(text) } else { decode_seed(One::new(name), text) }
}

fn decode_seed<'de, S: DeserializeSeed<'de>>(seed: S, text: &'de str) -> Result<S::Value, Failure> {
    // A model that has nothing to say may send nothing at all.
    let text = if text.trim_ascii().is_empty() { "{}" } else { text };
    // A struct would also be read from an array, by position; no schema says so.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(IgnoredAny) => misfit("the arguments are not an object"),
            Err(error) => refuse(&error, "."),
        });
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let value = seed
        .deserialize(serde_path_to_error::Deserializer::new(&mut json, &mut track))
        .map_err(|error| refuse(&error, &track.path().to_string()))?;
    json.end().map_err(|error| refuse(&error, "."))?;
    Ok(value)
}

fn refuse(error: &serde_json::Error, path: &str) -> Failure {
    let text = error.to_string();
    if !error.is_data() {
        return Failure::invalid_input(format!("the arguments are not JSON: {text}"))
            .code("arguments")
            .advice("send one JSON object");
    }
    // Line and column of a one-line text help nobody; the path does.
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    let message = if path == "." {
        format!("the arguments do not fit: {reason}")
    } else {
        format!("argument `{path}` does not fit: {reason}")
    };
    misfit(message)
}

fn misfit(message: impl Into<String>) -> Failure {
    Failure::invalid_input(message)
        .code("arguments")
        .advice("send an object that fits the input schema of the tool")
}

#[cfg(test)]
mod tests;

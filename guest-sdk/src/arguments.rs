//! From one JSON text to what a function takes.

mod one;
mod shape;

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, DeserializeSeed};
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

/// First choice (see the module `returned` for how choices work): types that can be read.
///
/// A struct is the arguments; anything else is one property with the name of the parameter.
pub trait Known<T> {
    /// The input schema.
    fn schema(&self, name: &str, description: Option<&str>) -> Value;

    /// Reads the arguments.
    ///
    /// # Errors
    /// `invalid_input` that names the place.
    fn decode(&self, name: &'static str, text: &str) -> Result<T, Failure>;
}

impl<T: DeserializeOwned + JsonSchema> Known<T> for &Arguments<T> {
    fn schema(&self, name: &str, description: Option<&str>) -> Value {
        if takes_whole::<T>() {
            schema::of_whole::<T>()
        } else {
            schema::of_one::<T>(name, description, shape::may_be_missing::<T>())
        }
    }

    fn decode(&self, name: &'static str, text: &str) -> Result<T, Failure> {
        if takes_whole::<T>() { decode(text) } else { decode_seed(One::new(name), text) }
    }
}

/// Last choice: types that cannot be read, reported with what to do.
pub trait Unknown<T> {
    /// Cannot be called.
    fn schema(&self, name: &str, description: Option<&str>) -> Value
    where
        T: ToolArguments;

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    fn decode(&self, name: &'static str, text: &str) -> Result<T, Failure>
    where
        T: ToolArguments;
}

impl<T> Unknown<T> for Arguments<T> {
    fn schema(&self, _name: &str, _description: Option<&str>) -> Value
    where
        T: ToolArguments,
    {
        Value::Null
    }

    fn decode(&self, _name: &'static str, _text: &str) -> Result<T, Failure>
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
    ///
    /// # Errors
    /// None.
    fn never() -> Result<Self, Failure>;
}

fn decode_seed<'de, S: DeserializeSeed<'de>>(seed: S, text: &'de str) -> Result<S::Value, Failure> {
    // A model that has nothing to say may send nothing at all.
    let text = if text.trim_ascii().is_empty() { "{}" } else { text };
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
    Failure::invalid_input(message)
        .code("arguments")
        .advice("send an object that fits the input schema of the tool")
}

#[cfg(test)]
mod tests;

//! Whether a type is a struct, asked of the type itself.
//!
//! A type tells a deserialiser what it expects before it reads anything. The probe here listens to that
//! and stops, which costs a few instructions and needs no schema.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

use crate::schema;

/// What a type expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A struct with named fields.
    Struct,
    /// A map, or a struct with flattened parts.
    Map,
    /// Whatever comes, such as an enum with the tag inside.
    Any,
    /// Something that is no object.
    Other,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Shape {}

impl Error for Shape {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self::Other
    }
}

/// Whether the type is the arguments themselves and not one of them.
pub(super) fn takes_whole<T: DeserializeOwned + JsonSchema>() -> bool {
    match T::deserialize(Probe) {
        Err(Shape::Struct) => true,
        Err(Shape::Map | Shape::Any) => schema::has_named_fields(&schema::read::<T>()),
        Err(Shape::Other) | Ok(_) => false,
    }
}

/// The value of a property that is not there; `Some` for options.
pub(super) fn missing<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(Probe).ok()
}

/// Whether a property of this type may be left out.
pub(super) fn may_be_missing<T: DeserializeOwned>() -> bool {
    missing::<T>().is_some()
}

/// Answers every expectation with its shape, and an optional one with nothing.
struct Probe;

impl<'de> Deserializer<'de> for Probe {
    type Error = Shape;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Shape> {
        Err(Shape::Struct)
    }

    fn deserialize_map<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Shape> {
        Err(Shape::Map)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Shape> {
        Err(Shape::Any)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Shape> {
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _visitor: V,
    ) -> Result<V::Value, Shape> {
        Err(Shape::Other)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Shape> {
        Err(Shape::Other)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Shape> {
        Err(Shape::Other)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bool char str string bytes byte_buf
        unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

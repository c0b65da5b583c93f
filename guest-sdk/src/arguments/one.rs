//! Reading an object with one known property.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};

use super::shape::missing;

/// Reads `{"name": value}` as the value.
pub(super) struct One<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> One<T> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for One<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for One<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != self.name {
                map.next_value::<IgnoredAny>()?;
                return Err(A::Error::custom(format_args!(
                    "unknown field `{key}`, expected `{}`",
                    self.name
                )));
            }
            if found.is_some() {
                return Err(A::Error::duplicate_field(self.name));
            }
            found = Some(map.next_value()?);
        }
        found.or_else(missing).ok_or_else(|| A::Error::missing_field(self.name))
    }
}

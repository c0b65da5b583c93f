//! Keys that are written twice in one object: parsers disagree on which one counts, so neither does.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// The place of the first key that its object has twice, as a JSON pointer; none when there is none.
///
/// A text that is no JSON has none either; whoever parses it says what is wrong.
pub(super) fn first_duplicate(text: &str) -> Option<String> {
    let mut look = Look { path: String::new(), found: None };
    let mut reader = serde_json::Deserializer::from_str(text);
    match (&mut look).deserialize(&mut reader) {
        Ok(()) | Err(_) => look.found,
    }
}

/// Reads a value and keeps nothing of it but the keys of the objects it is inside of.
struct Look {
    path: String,
    found: Option<String>,
}

impl Look {
    /// Reads what stands one step below.
    fn step<E>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        let above = self.path.len();
        self.path.push('/');
        self.path.push_str(&step.replace('~', "~0").replace('/', "~1"));
        let read = read(self);
        self.path.truncate(above);
        read
    }
}

impl<'de> DeserializeSeed<'de> for &mut Look {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Look {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let twice = keys.contains(&key);
            self.step(&key, |look| {
                if twice {
                    look.found = Some(look.path.clone());
                    return Err(A::Error::custom("a key is there twice"));
                }
                map.next_value_seed(look)
            })?;
            keys.insert(key);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0_usize;
        let mut more = true;
        while more {
            self.step(&index.to_string(), |look| {
                more = list.next_element_seed(look)?.is_some();
                Ok(())
            })?;
            index += 1;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_that_is_there_twice_is_named_wherever_it_stands() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(first_duplicate(text).as_deref(), expected, "{text}");
        };
        check(r#"{"a": 1, "b": {"a": null}, "c": [true, "x", 1.5, -1]}"#, None);
        check(r#"{"a": 1, "a": 1}"#, Some("/a"));
        check(r#"{"a": 1, "\u0061": 2}"#, Some("/a"));
        check(r#"{"x": [0, {"k/~": 1, "k/~": 2}]}"#, Some("/x/1/k~1~0"));
        check(r#"[{"a": 1}, {"a": 1}]"#, None);
        check(r#"{"a": 1, "a": "#, Some("/a"));
        for broken in ["", "{", "nope", r#"{"a": 1, "b"#] {
            check(broken, None);
        }
        check(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), None);
    }
}

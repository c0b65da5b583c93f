//! The arguments of a call as they are typed: JSON, a file, standard input, or pairs.

use std::io::Read;
use std::path::Path;

use hotcell::text::{cap_chars, escape_control};
use serde_json::{Map, Value};

use crate::ending::Complaint;

/// Bytes of arguments that are read; the door has a smaller limit and refuses more with its own code.
const MAX_BYTES: u64 = 16 << 20;

/// Arguments that were read and are not yet held against a schema.
#[derive(Debug, PartialEq)]
pub(crate) enum CallArguments {
    /// A JSON text.
    Json(String),
    /// Pairs of a name and a text.
    Pairs(Vec<(String, String)>),
}

impl CallArguments {
    /// Reads what was typed. Nothing typed is `{}`.
    pub(crate) fn read(typed: &[String], stdin: impl Read) -> Result<Self, Complaint> {
        match typed {
            [] => Ok(Self::Json("{}".into())),
            [one] if one == "-" => Self::json(read_text(stdin, "standard input")?, "standard input"),
            [one] if one.starts_with('@') => {
                let path = one.trim_start_matches('@');
                let file = hotcell::open_regular_file(Path::new(path)).map_err(|error| {
                    Complaint::usage(format!("arguments file `{}` cannot be read", escape_control(path)))
                        .because(error)
                })?;
                Self::json(read_text(file, path)?, path)
            }
            [one] if pair(one).is_none() => Self::json(one.clone(), "--args"),
            several => several
                .iter()
                .map(|text| {
                    pair(text).ok_or_else(|| {
                        let text = escape_control(&cap_chars(text, 80));
                        Complaint::usage(format!("--args: expected `name=value`, found `{text}`"))
                            .help("give pairs only, or one JSON object in quotes")
                    })
                })
                .collect::<Result<_, _>>()
                .map(Self::Pairs),
        }
    }

    fn json(text: String, place: &str) -> Result<Self, Complaint> {
        match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
            Ok(_any) => Ok(Self::Json(text)),
            Err(error) => Err(Complaint::usage(format!(
                "the arguments are not JSON: {}: {}",
                escape_control(place),
                escape_control(&error.to_string())
            ))
            .help("write a JSON object such as '{\"text\": \"hello\"}', pairs such as text=hello, or @FILE")),
        }
    }

    /// The arguments as one JSON text; where the schema asks for text, a value stays as it was typed.
    pub(crate) fn to_json(&self, schema: &Value) -> Result<String, Complaint> {
        let pairs = match self {
            Self::Json(text) => return Ok(text.clone()),
            Self::Pairs(pairs) => pairs,
        };
        let mut object = Map::new();
        for (name, text) in pairs {
            let value = if is_text(schema, name) {
                Value::from(text.as_str())
            } else {
                serde_json::from_str(text).unwrap_or_else(|_not_json| Value::from(text.as_str()))
            };
            if object.insert(name.clone(), value).is_some() {
                return Err(Complaint::usage(format!("--args: `{}` is given twice", escape_control(name))));
            }
        }
        Ok(Value::Object(object).to_string())
    }
}

/// Whether the schema takes nothing but text for the property.
fn is_text(schema: &Value, name: &str) -> bool {
    let kind = schema.pointer("/properties").and_then(|all| all.get(name)).and_then(|one| one.get("type"));
    match kind {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind == "string" || kind == "null"),
        _ => false,
    }
}

/// Splits `name=value`; a name has no signs that JSON begins with.
fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(plain)).then(|| (name.to_owned(), value.to_owned()))
}

fn read_text(from: impl Read, place: &str) -> Result<String, Complaint> {
    let place = escape_control(place);
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| {
        Complaint::usage(format!("arguments from `{place}` cannot be read")).because(error)
    })?;
    if u64::try_from(bytes.len()).is_ok_and(|read| read > MAX_BYTES) {
        return Err(Complaint::usage(format!("arguments from `{place}` have more than 16 MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Complaint::usage(format!("arguments from `{place}` are not UTF-8 text, from byte {at} on"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(typed: &[&str], stdin: &str) -> Result<CallArguments, Complaint> {
        let typed: Vec<_> = typed.iter().map(ToString::to_string).collect();
        CallArguments::read(&typed, stdin.as_bytes())
    }

    #[test]
    fn json_comes_from_the_line_from_standard_input_or_from_a_file() {
        let json = |text: &str| CallArguments::Json(text.into());
        assert_eq!(read(&[], "").unwrap(), json("{}"));
        assert_eq!(read(&[r#"{"a": 1}"#], "").unwrap(), json(r#"{"a": 1}"#));
        assert_eq!(read(&["-"], "[1]").unwrap(), json("[1]"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(read(&[&format!("@{}", file.path().display())], "").unwrap(), json("{}"));
    }

    #[test]
    fn what_is_not_json_is_wrong_usage_with_its_place() {
        for bad in ["{", "hello", "{\"a\": 1} x", ""] {
            let complaint = read(&[bad], "").unwrap_err();
            assert_eq!(complaint.exit, crate::ending::Exit::Usage);
            assert!(complaint.to_string().contains("--args"), "{complaint}");
        }
        assert!(read(&["-"], "{").unwrap_err().to_string().contains("standard input"));
        assert!(read(&["@/nowhere"], "").unwrap_err().to_string().contains("/nowhere"));
        assert!(read(&["a=1", "{}"], "").unwrap_err().to_string().contains("name=value"));
    }

    #[test]
    fn pairs_are_text_where_the_schema_wants_text_and_json_elsewhere() {
        let schema = json!({"properties": {
            "text": {"type": "string"}, "maybe": {"type": ["string", "null"]}, "n": {"type": "integer"},
        }});
        let arguments = read(&["text=12", "maybe=true", "n=12", "other=[1]", "free=a b=c"], "").unwrap();
        let value: Value = serde_json::from_str(&arguments.to_json(&schema).unwrap()).unwrap();
        assert_eq!(value, json!({"text": "12", "maybe": "true", "n": 12, "other": [1], "free": "a b=c"}));
        assert!(read(&["a=1", "a=2"], "").unwrap().to_json(&schema).is_err());
    }
}

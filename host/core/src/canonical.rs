//! Canonical JSON (RFC 8785) and the hashes that approvals bind on.

use serde_json::Value;
use thiserror::Error;

use crate::ids::Digest;

/// Says that a value has no canonical form.
#[derive(Debug, Error)]
#[error("value has no canonical JSON form")]
pub struct CanonicalError(#[from] serde_json::Error);

/// Writes the value in the one form RFC 8785 prescribes: sorted keys, no white space, shortest numbers.
///
/// # Errors
/// A number that is not finite has no canonical form.
pub fn to_canonical(value: &Value) -> Result<String, CanonicalError> {
    serde_json_canonicalizer::to_string(value).map_err(CanonicalError)
}

/// The SHA-256 digest of the canonical form.
///
/// # Errors
/// As [`to_canonical`].
pub fn hash(value: &Value) -> Result<Digest, CanonicalError> {
    Ok(Digest::of(to_canonical(value)?.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_hash_does_not_depend_on_key_order_or_number_spelling() {
        let a: Value = serde_json::from_str(r#"{"b": 1.0, "a": [1e2, "\u00e9"]}"#).unwrap();
        let b = json!({"a": [100, "é"], "b": 1});
        assert_eq!(to_canonical(&a).unwrap(), r#"{"a":[100,"é"],"b":1}"#);
        assert_eq!(hash(&a).unwrap(), hash(&b).unwrap());
        assert_ne!(hash(&a).unwrap(), hash(&json!({"a": [100, "é"], "b": 2})).unwrap());
    }
}

//! Identifiers with checked constructors.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Longest identifier in bytes; longer ones are refused so that an id can stand in any log line.
pub const MAX_ID_BYTES: usize = 256;

/// Longest tool name in bytes, the limit that model vendors share.
pub const MAX_TOOL_NAME_BYTES: usize = 64;

/// Says why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IdError {
    /// The text is empty.
    #[error("{kind} is empty")]
    Empty {
        /// What was being read.
        kind: &'static str,
    },
    /// The text is longer than allowed.
    #[error("{kind} has {found} bytes, at most {limit} are allowed")]
    TooLong {
        /// What was being read.
        kind: &'static str,
        /// Bytes found.
        found: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The text has a character that is not allowed at this place.
    #[error("{kind} `{text}` has a character that is not allowed: {found:?}; {allowed}")]
    Character {
        /// What was being read.
        kind: &'static str,
        /// The text, escaped.
        text: String,
        /// The first character that is not allowed.
        found: char,
        /// What is allowed instead, as a phrase.
        allowed: &'static str,
    },
    /// The text is not a digest.
    #[error("`{text}` is not a digest; expected `sha256:` and 64 hexadecimal digits")]
    Digest {
        /// The text, escaped.
        text: String,
    },
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the text: 1 to 256 bytes, no control characters.
            ///
            /// # Errors
            /// [`IdError`] names the rule that was broken.
            pub fn parse(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                check_text($kind, &text)?;
                Ok(Self(text))
            }

            /// The text of the identifier.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

text_id!(
    /// One request to an agent, from prompt to result.
    RunId,
    "run id"
);
text_id!(
    /// A conversation that holds runs.
    SessionId,
    "session id"
);
text_id!(
    /// One tool call, `run:turn:n` when a run made it.
    CallId,
    "call id"
);
text_id!(
    /// An organisation whose data and budgets are kept apart from all others.
    TenantId,
    "tenant id"
);
text_id!(
    /// Who a call is made for; scheduling is fair between principals.
    PrincipalId,
    "principal id"
);
text_id!(
    /// Names a result that was kept aside; only the store that gave it out knows it.
    ResultHandle,
    "result handle"
);
text_id!(
    /// Stays the same when a call is repeated, so that a tool can recognise the repetition.
    IdempotencyKey,
    "idempotency key"
);

fn check_text(kind: &'static str, text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty { kind });
    }
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong { kind, found: text.len(), limit: MAX_ID_BYTES });
    }
    match text.chars().find(|c| c.is_control()) {
        None => Ok(()),
        Some(found) => Err(IdError::Character {
            kind,
            text: crate::text::escape_control(text),
            found,
            allowed: "control characters are not allowed",
        }),
    }
}

/// The name a model calls a tool by: `[a-zA-Z0-9_-]{1,64}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(String);

impl ToolName {
    /// Checks the text against `[a-zA-Z0-9_-]{1,64}`, the character set every model vendor accepts.
    ///
    /// # Errors
    /// [`IdError`] names the rule that was broken.
    pub fn parse(text: impl Into<String>) -> Result<Self, IdError> {
        let text = text.into();
        let kind = "tool name";
        if text.is_empty() {
            return Err(IdError::Empty { kind });
        }
        if text.len() > MAX_TOOL_NAME_BYTES {
            return Err(IdError::TooLong { kind, found: text.len(), limit: MAX_TOOL_NAME_BYTES });
        }
        match text.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))) {
            None => Ok(Self(text)),
            Some(found) => Err(IdError::Character {
                kind,
                text: crate::text::escape_control(&text),
                found,
                allowed: "letters a-z and A-Z, digits, `_` and `-` are allowed",
            }),
        }
    }

    /// The text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ToolName {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0
    }
}

/// A SHA-256 digest, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The raw 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hexadecimal digits, without the `sha256:` in front; fit for a file name.
    #[must_use]
    pub fn to_hex(&self) -> String {
        use std::fmt::Write as _;
        self.0.iter().fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a String cannot fail.
            if write!(hex, "{byte:02x}").is_err() {
                unreachable!("writing to a string cannot fail");
            }
            hex
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let error =
            || IdError::Digest { text: crate::text::escape_control(&crate::text::cap_chars(text, 100)) };
        let hex = text.strip_prefix("sha256:").ok_or_else(error)?;
        if hex.len() != 64 || !hex.is_ascii() {
            return Err(error());
        }
        let mut bytes = [0_u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_e| error())?;
            if pair.starts_with('+') {
                return Err(error());
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_e| error())?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests;

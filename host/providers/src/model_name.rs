//! The name of a model: who offers it and how they call it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hotcell_core::text::{cap_chars, escape_control};
use thiserror::Error;

/// Longest model name in bytes.
pub const MAX_MODEL_NAME_BYTES: usize = 512;

/// A model of a provider, or a script that plays one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ModelName {
    /// `script:FILE`.
    Script(PathBuf),
    /// `provider/model`; the model may have slashes of its own.
    Offered {
        /// Who offers it.
        provider: Provider,
        /// What they call it.
        model: String,
    },
}

/// Who offers models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI, and every server that speaks its chat protocol at another base URL.
    OpenAi,
}

impl Provider {
    /// Every provider of this version.
    pub const ALL: &'static [Self] = &[Self::OpenAi];

    /// The part of a model name before the slash.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
        }
    }

    /// The environment variable that customarily holds the key; whoever reads the environment asks for it.
    #[must_use]
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// The environment variable that customarily holds another base URL.
    #[must_use]
    pub const fn base_url_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
        }
    }

    /// Where the provider is reached unless another base URL is given.
    #[must_use]
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
        }
    }
}

/// Says why a text is not the name of a model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelNameError {
    /// The text has no provider in front.
    #[error("`{text}` is not the name of a model; expected {KNOWN}")]
    Form {
        /// What was written, escaped and cut.
        text: String,
    },
    /// Nobody here offers models under this name.
    #[error("provider `{provider}` is not available in this version; expected {KNOWN}")]
    Provider {
        /// What was written before the slash, escaped and cut.
        provider: String,
    },
    /// The part after the provider is missing or has a character that cannot be sent.
    #[error("`{text}` names no {what}; expected {KNOWN}")]
    Rest {
        /// What was written, escaped and cut.
        text: String,
        /// What is missing.
        what: &'static str,
    },
    /// The text is too long to be a name.
    #[error("the model name has {found} bytes, at most {MAX_MODEL_NAME_BYTES} are allowed")]
    TooLong {
        /// Bytes found.
        found: usize,
    },
}

const KNOWN: &str =
    "`openai/MODEL`, such as `openai/gpt-4.1`, or `script:FILE` for a script that needs no network";

impl ModelName {
    /// Reads `provider/model` or `script:FILE`.
    ///
    /// ```
    /// use hotcell_providers::{ModelName, Provider};
    ///
    /// let name = ModelName::parse("openai/gpt-4.1")?;
    /// assert_eq!(name, ModelName::Offered { provider: Provider::OpenAi, model: "gpt-4.1".into() });
    /// assert_eq!(ModelName::parse("script:demo.jsonl")?.script(), Some("demo.jsonl".as_ref()));
    /// # Ok::<(), hotcell_providers::ModelNameError>(())
    /// ```
    ///
    /// # Errors
    /// [`ModelNameError`] lists what is known.
    pub fn parse(text: &str) -> Result<Self, ModelNameError> {
        if text.len() > MAX_MODEL_NAME_BYTES {
            return Err(ModelNameError::TooLong { found: text.len() });
        }
        let quoted = |text: &str| escape_control(&cap_chars(text, 80));
        if let Some(file) = text.strip_prefix("script:") {
            return match file {
                "" => Err(ModelNameError::Rest { text: quoted(text), what: "file" }),
                file => Ok(Self::Script(file.into())),
            };
        }
        let Some((provider, model)) = text.split_once('/') else {
            return Err(ModelNameError::Form { text: quoted(text) });
        };
        let Some(known) = Provider::ALL.iter().find(|known| known.as_str() == provider) else {
            return Err(ModelNameError::Provider { provider: quoted(provider) });
        };
        if model.is_empty() || model.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(ModelNameError::Rest {
                text: quoted(text),
                what: "model without white space in its name",
            });
        }
        Ok(Self::Offered { provider: *known, model: model.into() })
    }

    /// The file of a script; `None` for a model that somebody offers.
    #[must_use]
    pub fn script(&self) -> Option<&Path> {
        match self {
            Self::Script(file) => Some(file),
            Self::Offered { .. } => None,
        }
    }
}

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<Self, ModelNameError> {
        Self::parse(text)
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(file) => write!(f, "script:{}", file.display()),
            Self::Offered { provider, model } => write!(f, "{}/{model}", provider.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_and_print_the_same() {
        for text in
            ["openai/gpt-4.1", "openai/meta-llama/Llama-3.1-8B", "script:demo.jsonl", "script:/a b/c:d"]
        {
            assert_eq!(ModelName::parse(text).unwrap().to_string(), text);
        }
    }

    /// H-03.
    #[test]
    fn wrong_names_say_what_is_known() {
        let cases = [
            ("gpt-4.1", "`gpt-4.1` is not the name of a model"),
            ("", "`` is not the name of a model"),
            ("anthropic/claude-sonnet-4-6", "provider `anthropic` is not available in this version"),
            ("OpenAI/gpt-4.1", "provider `OpenAI` is not available in this version"),
            ("openai/", "`openai/` names no model without white space in its name"),
            ("openai/a b", "`openai/a b` names no model without white space in its name"),
            ("script:", "`script:` names no file"),
            ("a\u{1b}/b", "provider `a\\u{1b}` is not available in this version"),
        ];
        for (text, expected) in cases {
            let error = ModelName::parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("{expected}; expected {KNOWN}"));
        }
        assert!(ModelName::parse(&"x".repeat(600)).unwrap_err().to_string().contains("600 bytes"));
    }
}

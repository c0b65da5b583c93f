//! From the name of a model to a model that can be asked.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hotcell_core::model::Model;
use hotcell_core::text::escape_control;
use hotcell_providers::script::MAX_SCRIPT_BYTES;
use hotcell_providers::{
    ModelName, ModelNameError, OpenAiChat, OpenAiSettings, Provider, ScriptError, ScriptFile, SettingsError,
};
use secrecy::SecretString;
use thiserror::Error;

use crate::regular_file::open_regular_file;

/// The model that is meant when nobody names one.
pub const DEFAULT_MODEL: &str = "anthropic/claude-sonnet-4-6";

/// Says why a model cannot be used. The texts never hold a key.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelChoiceError {
    /// The text is not the name of a model of this version.
    #[error(transparent)]
    Name(#[from] ModelNameError),
    /// There is no key for the provider.
    #[error("model `{model}` needs a key: the environment variable {variable} is not set")]
    Key {
        /// The model.
        model: String,
        /// The variable that holds keys of this provider.
        variable: &'static str,
    },
    /// The provider's settings are wrong.
    #[error("model `{model}` cannot be reached")]
    Settings {
        /// The model.
        model: String,
        /// Which setting, and what was expected.
        source: SettingsError,
    },
    /// The script cannot be read.
    #[error("script `{}` cannot be read", escape_control(&path.to_string_lossy()))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The script is wrong.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Opens a model by its name, `openai/MODEL` or `script:FILE`. Keys and base URLs come from the environment.
///
/// Blocks while a script is read; asks no provider for anything.
///
/// # Errors
/// [`ModelChoiceError`] names the variable, setting, file or line that is wrong.
pub fn open_model(name: &str) -> Result<Arc<dyn Model>, ModelChoiceError> {
    match ModelName::parse(name)? {
        ModelName::Script(path) => {
            let text =
                read_script(&path).map_err(|source| ModelChoiceError::Read { path: path.clone(), source })?;
            Ok(Arc::new(ScriptFile::parse(&text, &path.to_string_lossy())?))
        }
        ModelName::Offered { provider, model } => open_offered(name, provider, model),
    }
}

/// A script that is in memory already; `name` is what errors call it.
///
/// # Errors
/// The first line that is wrong.
pub fn script_model(text: &str, name: &str) -> Result<Arc<dyn Model>, ModelChoiceError> {
    Ok(Arc::new(ScriptFile::parse(text, name)?))
}

fn open_offered(name: &str, provider: Provider, model: String) -> Result<Arc<dyn Model>, ModelChoiceError> {
    let base_url = variable(provider.base_url_variable());
    let key = variable(provider.key_variable());
    // A server of one's own needs no key; the provider's own does.
    if key.is_none() && base_url.is_none() {
        return Err(ModelChoiceError::Key { model: escape_control(name), variable: provider.key_variable() });
    }
    let mut settings = OpenAiSettings::new(model);
    settings.base_url = base_url.unwrap_or(settings.base_url);
    settings.api_key = key.map(SecretString::from);
    let chat = OpenAiChat::new(settings)
        .map_err(|source| ModelChoiceError::Settings { model: escape_control(name), source })?;
    Ok(Arc::new(chat))
}

/// An environment variable that holds text; an empty one counts as absent.
#[expect(clippy::disallowed_methods, reason = "the facade is where the environment is read")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The model the environment names in `HOTCELL_MODEL`; none when the variable is absent or empty.
#[must_use]
pub fn model_from_environment() -> Option<String> {
    variable("HOTCELL_MODEL")
}

fn read_script(path: &Path) -> io::Result<String> {
    // One byte more than is allowed, so that the parser sees a script that is too long and says so.
    let limit = u64::try_from(MAX_SCRIPT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = String::new();
    open_regular_file(path)?.take(limit).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_from_its_file_and_errors_name_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.jsonl");
        std::fs::write(&file, "{\"text\": \"hi\"}\n").unwrap();
        assert!(open_model(&format!("script:{}", file.display())).unwrap().name().starts_with("script:"));
        std::fs::write(&file, "{\"text\": 1}\n").unwrap();
        assert!(
            open_model(&format!("script:{}", file.display())).unwrap_err().to_string().contains("line 1")
        );
        assert!(open_model("script:/nowhere").unwrap_err().to_string().contains("/nowhere"));
        assert!(open_model(DEFAULT_MODEL).unwrap_err().to_string().contains("script:FILE"));
    }
}

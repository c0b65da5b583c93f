//! Which model a command works with, and what to do when there is none.

use std::sync::Arc;

use hotcell::{DEFAULT_MODEL, Model, ModelChoiceError, Policy, model_from_environment, open_model};

use crate::ending::Complaint;

/// The model that is named first: by the command line, the environment, the policy, or nobody.
pub(crate) fn choose_model(typed: Option<&str>, policy: &Policy) -> Result<Arc<dyn Model>, Complaint> {
    let name = typed
        .map(str::to_owned)
        .or_else(model_from_environment)
        .or_else(|| policy.run.model.clone())
        .unwrap_or_else(|| DEFAULT_MODEL.into());
    open_model(&name).map_err(|error| explain_model(&name, error))
}

/// Says what to do about a model that cannot be used.
pub(crate) fn explain_model(name: &str, error: ModelChoiceError) -> Complaint {
    let help: &[&str] = match &error {
        ModelChoiceError::Name(_) => &[
            "name another one with --model, HOTCELL_MODEL or the policy's `run.model`, such as `openai/gpt-4.1` with OPENAI_API_KEY set",
            OFFLINE,
        ],
        ModelChoiceError::Key { .. } => &[
            "set that variable to your key, or OPENAI_BASE_URL to a server of your own that needs none",
            OFFLINE,
        ],
        ModelChoiceError::Settings { .. } => &["correct OPENAI_API_KEY or OPENAI_BASE_URL", OFFLINE],
        // The file and the line are in the error already.
        _ => &[],
    };
    let message = format!("model `{}` cannot be used", hotcell::text::escape_control(name));
    help.iter().fold(Complaint::usage(message).because(error), |complaint, help| complaint.help(*help))
}

/// The way out without a network.
const OFFLINE: &str =
    "stay offline with --model script:FILE, a file with one reply per line such as {\"text\": \"Hello.\"}";

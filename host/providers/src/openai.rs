//! OpenAI's chat protocol, which many servers speak: one request, one whole reply.
//!
//! `rig-core` writes the request, because it knows which model takes which field.
//! The reply is read here from the provider's own JSON: the library turns a finish reason it does not know,
//! and a refusal, into something else. Sending is ours as well, so that sizes, time, redirects and the key are
//! under control. The history goes to the encoder as it is; the library's driver, which is not used, would
//! rewrite what it thinks cannot be sent.

mod reply;
mod request;
mod transport;

use std::fmt;
use std::time::Duration;

use futures::FutureExt as _;
use futures::stream::{self, BoxStream, StreamExt as _};
use hotcell_core::message::Message;
use hotcell_core::model::{Model, ModelError, ModelEvent, ModelReply, ModelRequest};
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::wire::Chat;
use secrecy::SecretString;
use thiserror::Error;

use self::transport::Transport;
use crate::model_name::Provider;

/// Most bytes of one reply unless the settings say otherwise; a longer one is given up.
pub const DEFAULT_MAX_REPLY_BYTES: usize = 8 << 20;

/// What a chat model needs to be reached.
#[derive(Debug, Clone)]
pub struct OpenAiSettings {
    /// Where the server is, without the `/chat/completions` at the end.
    pub base_url: String,
    /// The model, as the server calls it.
    pub model: String,
    /// The key; `None` sends none, as local servers want it.
    pub api_key: Option<SecretString>,
    /// The time from the first byte sent to the last byte of the reply.
    pub timeout: Duration,
    /// Most bytes of one reply.
    pub max_reply_bytes: usize,
}

impl OpenAiSettings {
    /// A model of OpenAI itself: its own base URL, no key yet, 300 seconds, [`DEFAULT_MAX_REPLY_BYTES`].
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            base_url: Provider::OpenAi.base_url().into(),
            model: model.into(),
            api_key: None,
            timeout: Duration::from_secs(300),
            max_reply_bytes: DEFAULT_MAX_REPLY_BYTES,
        }
    }
}

/// Says why a model cannot be set up. The texts never hold a key.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The base URL is not one, or has parts that do not belong there.
    #[error(
        "base URL {reason}; expected one such as `https://api.openai.com/v1` or `http://127.0.0.1:8080/v1`"
    )]
    BaseUrl {
        /// What is wrong.
        reason: String,
    },
    /// The key would leave this machine in the clear.
    #[error("a key is not sent over plain http to `{host}`; use https, or leave the key out")]
    PlainText {
        /// The host of the base URL.
        host: String,
    },
    /// The key is empty or cannot stand in a header.
    #[error(
        "the key is empty or has a character that cannot be sent, such as a space or a line feed at its end"
    )]
    Key,
    /// The certificates of this machine cannot be read.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up: {reason}")]
    Client {
        /// What the client says.
        reason: String,
    },
}

/// A model behind OpenAI's chat protocol.
///
/// Environment variables for proxies are not read. Redirects are not followed and nothing is tried twice.
pub struct OpenAiChat {
    name: String,
    wire: Chat,
    transport: Transport,
}

impl OpenAiChat {
    /// Checks the settings; nothing is sent.
    ///
    /// # Errors
    /// [`SettingsError`] says which setting is wrong.
    pub fn new(settings: OpenAiSettings) -> Result<Self, SettingsError> {
        let base_url = settings.base_url.trim_end_matches('/').to_owned();
        let name = format!("{}/{}", Provider::OpenAi.as_str(), settings.model);
        // The key stays with the transport; the encoder never sees it.
        let wire = OpenAIConfig::new("").with_base_url(base_url.as_str()).chat(settings.model.as_str());
        let transport = Transport::new(&base_url, settings)?;
        Ok(Self { name, wire, transport })
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let encoded = request::encode(&self.wire, &request)?;
        let turn = request
            .transcript
            .messages()
            .iter()
            .filter(|message| matches!(message.as_ref(), Message::Assistant { .. }))
            .count();
        let body = self.transport.post(&encoded.url, encoded.body).await?;
        reply::decode(&body, turn + 1).map_err(|error| {
            // Errors quote the beginning of the body, and a cut could leave half of a repeated key; so the key
            // goes before anything is cut.
            let clean = self.transport.scrub(&String::from_utf8_lossy(&body));
            self.transport.scrubbed(reply::decode(clean.as_bytes(), turn + 1).err().unwrap_or(error))
        })
    }
}

impl fmt::Debug for OpenAiChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiChat").field("name", &self.name).field("transport", &self.transport).finish()
    }
}

impl Model for OpenAiChat {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        stream::once(self.ask(request).map(|reply| reply.map(ModelEvent::Reply))).boxed()
    }
}

#[cfg(test)]
mod tests;

//! One POST with a bounded time and a bounded reply, and the key where nothing prints it.

use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hotcell_core::model::ModelError;
use hotcell_core::units::{format_bytes, format_duration};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url, redirect, retry};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use secrecy::{ExposeSecret as _, SecretString};

use super::reply::{error_message, quote};
use super::{OpenAiSettings, SettingsError};

/// Longest wait for a connection; the whole request has a time of its own.
const MAX_CONNECT_TIME: Duration = Duration::from_secs(10);

/// Most bytes of an error's body; what it says is quoted much shorter.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Sends to one server.
pub(super) struct Transport {
    client: Client,
    key: Option<SecretString>,
    timeout: Duration,
    max_reply_bytes: usize,
    server: String,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("server", &self.server)
            .field("timeout", &self.timeout)
            .field("max_reply_bytes", &self.max_reply_bytes)
            .finish_non_exhaustive()
    }
}

impl Transport {
    pub(super) fn new(base_url: &str, settings: OpenAiSettings) -> Result<Self, SettingsError> {
        let url = parse_base(base_url)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let secure = url.scheme() == "https";
        if let Some(key) = &settings.api_key {
            if !secure && !is_loopback(&url) {
                return Err(SettingsError::PlainText { host });
            }
            authorization(key)?;
        }
        let client = Client::builder()
            .user_agent(concat!("hotcell/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls(secure)?)
            .no_proxy()
            .referer(false)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .connect_timeout(settings.timeout.min(MAX_CONNECT_TIME))
            .timeout(settings.timeout)
            .build()
            .map_err(|error| SettingsError::Client { reason: chain(error) })?;
        Ok(Self {
            client,
            key: settings.api_key,
            timeout: settings.timeout,
            max_reply_bytes: settings.max_reply_bytes,
            server: url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}")),
        })
    }

    /// Sends the body and takes the whole reply; dropping the future closes the connection.
    pub(super) async fn post(&self, url: &str, body: Vec<u8>) -> Result<Vec<u8>, ModelError> {
        let mut request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body);
        if let Some(key) = &self.key {
            let value = authorization(key).map_err(|error| self.failed(error.to_string(), None))?;
            request = request.header(AUTHORIZATION, value);
        }
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        if status.is_success() {
            self.read(response).await
        } else {
            Err(self.refused(status, response).await)
        }
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, ModelError> {
        let status = response.status().as_u16();
        let limit = self.max_reply_bytes;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if body.len().saturating_add(chunk.len()) > limit {
                let limit = format_bytes(u64::try_from(limit).unwrap_or(u64::MAX));
                let message =
                    format!("the reply of `{}` has more than {limit}, the most that is read", self.server);
                return Err(self.failed(message, Some(status)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The error for a status that is not a success, with what the server says of it.
    async fn refused(&self, status: StatusCode, mut response: Response) -> ModelError {
        let mut body = Vec::new();
        // What came before the connection broke or the size ran out is enough to quote.
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ERROR_BYTES {
                break;
            }
        }
        let said = serde_json::from_slice(&body).ok().and_then(|json| error_message(&json));
        let said = said.unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
        let advice = match status.as_u16() {
            401 => "; check the key",
            403 => "; check what the key may do",
            404 => "; check the base URL and the name of the model",
            429 => "; wait, or check the quota",
            300..=399 => "; redirects are not followed, set the base URL they lead to",
            500.. => "; try again later",
            _ => "",
        };
        let said = quote(&self.scrub(&said));
        let colon = if said.is_empty() { "" } else { ": " };
        self.failed(
            format!("`{}` answered {status}{colon}{said}{advice}", self.server),
            Some(status.as_u16()),
        )
    }

    /// The error for a request that got no whole reply.
    fn unreachable(&self, error: reqwest::Error) -> ModelError {
        let server = &self.server;
        let message = if error.is_timeout() && !error.is_connect() {
            let time = format_duration(self.timeout);
            format!("`{server}` gave no whole reply within {time}; try again, or allow more time")
        } else if error.is_connect() {
            format!("`{server}` cannot be reached: {}; check the base URL and the network", chain(error))
        } else {
            format!("the reply of `{server}` broke off: {}; try again", chain(error))
        };
        self.failed(message, None)
    }

    fn failed(&self, message: String, status: Option<u16>) -> ModelError {
        self.scrubbed(ModelError::Provider { message, status })
    }

    /// The error without the key, should the server have repeated it.
    pub(super) fn scrubbed(&self, error: ModelError) -> ModelError {
        match error {
            ModelError::Provider { message, status } => {
                ModelError::Provider { message: self.scrub(&message), status }
            }
            ModelError::Malformed { message } => ModelError::Malformed { message: self.scrub(&message) },
            other => other,
        }
    }

    /// The text without the key.
    pub(super) fn scrub(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.expose_secret(), "[key]"),
            None => text.into(),
        }
    }
}

fn authorization(key: &SecretString) -> Result<HeaderValue, SettingsError> {
    let text = key.expose_secret();
    let visible = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    let value = HeaderValue::from_str(&format!("Bearer {text}")).ok().filter(|_| visible);
    let mut value = value.ok_or(SettingsError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

fn parse_base(base_url: &str) -> Result<Url, SettingsError> {
    let wrong = |reason: String| SettingsError::BaseUrl { reason };
    // A wrong URL is not quoted: a key may have been pasted into it.
    let url = Url::parse(base_url).map_err(|error| wrong(format!("cannot be read ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("has neither `http://` nor `https://` in front".into()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("has no host".into()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has a user or a password in it".into()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("has a `?` or a `#` in it".into()));
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// rustls with ring and the certificates of this machine; a plain connection trusts nobody and needs none.
fn tls(secure: bool) -> Result<ClientConfig, SettingsError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(SettingsError::Tls)?;
    if secure {
        return Ok(builder.with_platform_verifier().map_err(SettingsError::Tls)?.with_no_client_auth());
    }
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// The error and its causes, without the URL.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    // A chain is short; the bound is for one that leads into itself.
    for _ in 0..8 {
        let Some(error) = cause else { break };
        text = format!("{text}: {error}");
        cause = error.source();
    }
    quote(&text)
}

//! What a tool knows of the call it serves.

/// What a tool knows of the call it serves; a tool asks for it with a last parameter `&Context`.
///
/// ```
/// use hotcell_tool::{Context, tool};
///
/// /// Say which call this is.
/// #[tool(read_only)]
/// fn which(context: &Context) -> String {
///     context.call_id().to_owned()
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    pub(crate) call_id: String,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) attributes: Vec<(String, String)>,
}

impl Context {
    /// A context with this call id and nothing else, for tests.
    #[must_use]
    pub fn new(call_id: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), ..Self::default() }
    }

    /// The same context with an idempotency key, for tests.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// The same context with a session, for tests.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// The same context with one more attribute, for tests; `json` is one JSON text.
    #[must_use]
    pub fn with_attribute(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.attributes.push((key.into(), json.into()));
        self
    }

    /// Names the call; unique on its host.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The same for every repetition of the call: send it along, and a service can drop the second one.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.idempotency_key.as_deref()
    }

    /// Names the conversation; opaque.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Another value the host sent along, as one JSON text.
    #[must_use]
    pub fn attribute(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == key).map(|(_, json)| json.as_str())
    }
}

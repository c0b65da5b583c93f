//! `hotcell:tool/tools@0.1.0` for the bare engine.
#![expect(dead_code, reason = "what the guest returns is lifted whole; the bench looks at the text only")]

use wasmtime::component::{ComponentType, Lift, Lower};

#[derive(Debug, ComponentType, Lift, Lower)]
#[component(record)]
pub(crate) struct Attribute {
    pub(crate) key: String,
    pub(crate) value: String,
}

#[derive(Debug, ComponentType, Lower)]
#[component(record)]
pub(crate) struct Context<'a> {
    #[component(name = "call-id")]
    pub(crate) call_id: &'a str,
    #[component(name = "idempotency-key")]
    pub(crate) idempotency_key: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) attributes: &'a [Attribute],
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
pub(crate) struct Blob {
    #[component(name = "media-type")]
    pub(crate) media_type: String,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
pub(crate) struct Link {
    pub(crate) uri: String,
    #[component(name = "media-type")]
    pub(crate) media_type: Option<String>,
    pub(crate) title: Option<String>,
}

#[derive(Debug, ComponentType, Lift)]
#[component(variant)]
pub(crate) enum Block {
    #[component(name = "text")]
    Text(String),
    #[component(name = "json")]
    Json(String),
    #[component(name = "blob")]
    Blob(Blob),
    #[component(name = "link")]
    Link(Link),
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
pub(crate) struct Output {
    pub(crate) content: Vec<Block>,
    pub(crate) structured: Option<String>,
    pub(crate) attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub(crate) enum Fault {
    #[component(name = "invalid-input")]
    InvalidInput,
    #[component(name = "not-found")]
    NotFound,
    #[component(name = "denied")]
    Denied,
    #[component(name = "unauthenticated")]
    Unauthenticated,
    #[component(name = "conflict")]
    Conflict,
    #[component(name = "rate-limited")]
    RateLimited,
    #[component(name = "upstream")]
    Upstream,
    #[component(name = "unavailable")]
    Unavailable,
    #[component(name = "cancelled")]
    Cancelled,
    #[component(name = "internal")]
    Internal,
}

#[derive(Debug, ComponentType, Lift)]
#[component(record)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) advice: Option<String>,
    #[component(name = "retry-after-ms")]
    pub(crate) retry_after_ms: Option<u32>,
    #[component(name = "effect-possible")]
    pub(crate) effect_possible: bool,
    pub(crate) attributes: Vec<Attribute>,
}

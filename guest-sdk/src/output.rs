//! What a tool returns when it does not fail.

use std::borrow::Cow;

use serde::Serialize;

use crate::failure::{Failure, Fault};
use crate::or_fail::OrFail as _;

/// A result in pieces, for tools that return more than one value of one type.
///
/// Most tools return a type with `Serialize` and `JsonSchema` instead, or a `String`.
///
/// ```
/// use hotcell_tool::{Failure, Output, tool};
///
/// /// Draw a dot.
/// #[tool(read_only)]
/// fn dot() -> Result<Output, Failure> {
///     let svg = "<svg xmlns='http://www.w3.org/2000/svg'><circle r='1'/></svg>";
///     Output::text("A dot.").blob("image/svg+xml", svg).structured(&1)
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    pub(crate) content: Vec<Block>,
    pub(crate) structured: Option<String>,
}

/// One piece of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Block {
    /// Plain text.
    Text(String),
    /// One JSON text.
    Json(String),
    /// Bytes.
    Blob {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A reference; hosts do not follow it.
    Link {
        /// The address.
        uri: String,
        /// The media type of what it points to.
        media_type: Option<String>,
        /// A title for people.
        title: Option<String>,
    },
}

impl Output {
    /// A result without content.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A result that is one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().block(Block::Text(text.into()))
    }

    /// The same result with one more piece.
    #[must_use]
    pub fn block(mut self, block: Block) -> Self {
        self.content.push(block);
        self
    }

    /// The same result with bytes of this media type, such as `image/png`.
    #[must_use]
    pub fn blob(self, media_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.block(Block::Blob { media_type: media_type.into(), bytes: bytes.into() })
    }

    /// The same result with a reference to something.
    #[must_use]
    pub fn link(self, uri: impl Into<String>) -> Self {
        self.block(Block::Link { uri: uri.into(), media_type: None, title: None })
    }

    /// The same result with a JSON value among its content.
    ///
    /// # Errors
    /// [`Fault::Internal`] when the value has no JSON form, such as a map with keys that are no texts.
    pub fn json(self, value: &impl Serialize) -> Result<Self, Failure> {
        let text = to_json(value)?;
        Ok(self.block(Block::Json(text)))
    }

    /// The same result with a value that programs read.
    ///
    /// # Errors
    /// [`Fault::Internal`] when the value has no JSON form, such as a map with keys that are no texts.
    pub fn structured(self, value: &impl Serialize) -> Result<Self, Failure> {
        Ok(self.structured_json(to_json(value)?))
    }

    /// The same result with a structured value that is JSON text already; it is passed on unread.
    #[must_use]
    pub fn structured_json(mut self, json: impl Into<String>) -> Self {
        self.structured = Some(json.into());
        self
    }

    /// The pieces in their order.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.content
    }

    /// The structured value as JSON text.
    #[must_use]
    pub fn structured_text(&self) -> Option<&str> {
        self.structured.as_deref()
    }

    /// All text pieces, with line breaks between them.
    #[must_use]
    pub fn to_text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text.as_str()),
                Block::Json(_) | Block::Blob { .. } | Block::Link { .. } => None,
            })
            .collect();
        texts.join("\n")
    }
}

fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).or_fail(Fault::Internal, "the result has no JSON form")
}

/// Types that are a result as they are, without a schema.
pub trait IntoOutput {
    /// The result.
    fn into_output(self) -> Output;
}

impl IntoOutput for Output {
    fn into_output(self) -> Output {
        self
    }
}

impl IntoOutput for Block {
    fn into_output(self) -> Output {
        Output::new().block(self)
    }
}

impl IntoOutput for () {
    fn into_output(self) -> Output {
        Output::new()
    }
}

impl IntoOutput for String {
    fn into_output(self) -> Output {
        Output::text(self)
    }
}

impl IntoOutput for &str {
    fn into_output(self) -> Output {
        Output::text(self)
    }
}

impl IntoOutput for Cow<'_, str> {
    fn into_output(self) -> Output {
        Output::text(self)
    }
}

impl IntoOutput for Box<str> {
    fn into_output(self) -> Output {
        Output::text(self)
    }
}

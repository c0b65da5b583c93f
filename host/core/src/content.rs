//! What a tool result or a message is made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::media::Media;

/// One piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A JSON value.
    Json {
        /// The value.
        value: Value,
    },
    /// Bytes with a media type.
    Blob {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// An image, a PDF or a recording whose bytes were looked at.
    Media {
        /// The bytes and their type.
        media: Media,
    },
    /// A reference; the host never follows it.
    Link {
        /// The address.
        uri: String,
        /// The media type of what it points to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The block as text for a model that takes only text.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Json { value } => value.to_string(),
            Self::Blob { media_type, bytes } => format!("[{} bytes of {media_type}]", bytes.len()),
            Self::Media { media } => format!("[{} bytes of {}]", media.bytes().len(), media.media_type()),
            Self::Link { uri, title, .. } => match title {
                Some(title) => format!("{title}: {uri}"),
                None => uri.clone(),
            },
        }
    }
}

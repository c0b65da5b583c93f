//! Images, documents and recordings: bytes that were looked at before anybody relies on their type.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::text::{cap_chars, escape_control};

/// A media type that models take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaType {
    /// `image/png`
    Png,
    /// `image/jpeg`
    Jpeg,
    /// `image/gif`
    Gif,
    /// `image/webp`
    Webp,
    /// `application/pdf`
    Pdf,
    /// `audio/wav`
    Wav,
    /// `audio/mpeg`
    Mp3,
    /// `audio/flac`
    Flac,
    /// `audio/ogg`
    Ogg,
}

/// What a media type is, to a person and to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A document with pages.
    Pdf,
    /// A recording.
    Audio,
}

impl MediaType {
    /// Every type, in the order of its declaration.
    pub const ALL: [Self; 9] = [
        Self::Png,
        Self::Jpeg,
        Self::Gif,
        Self::Webp,
        Self::Pdf,
        Self::Wav,
        Self::Mp3,
        Self::Flac,
        Self::Ogg,
    ];

    /// The text of the type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
            Self::Wav => "audio/wav",
            Self::Mp3 => "audio/mpeg",
            Self::Flac => "audio/flac",
            Self::Ogg => "audio/ogg",
        }
    }

    /// What it is.
    #[must_use]
    pub const fn kind(self) -> MediaKind {
        match self {
            Self::Png | Self::Jpeg | Self::Gif | Self::Webp => MediaKind::Image,
            Self::Pdf => MediaKind::Pdf,
            Self::Wav | Self::Mp3 | Self::Flac | Self::Ogg => MediaKind::Audio,
        }
    }

    /// The type these bytes begin like.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let begins = |magic: &[u8]| bytes.starts_with(magic);
        let riff = |form: &[u8]| begins(b"RIFF") && bytes.get(8..12) == Some(form);
        let found = match bytes {
            _ if begins(b"\x89PNG\r\n\x1a\n") => Self::Png,
            _ if begins(b"\xff\xd8\xff") => Self::Jpeg,
            _ if begins(b"GIF87a") || begins(b"GIF89a") => Self::Gif,
            _ if riff(b"WEBP") => Self::Webp,
            _ if begins(b"%PDF-") => Self::Pdf,
            _ if riff(b"WAVE") => Self::Wav,
            _ if begins(b"ID3") => Self::Mp3,
            // The eleven bits every frame begins with, of layer III.
            [0xff, second, ..] if second & 0xe6 == 0xe2 => Self::Mp3,
            _ if begins(b"fLaC") => Self::Flac,
            _ if begins(b"OggS") => Self::Ogg,
            _ => return None,
        };
        Some(found)
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl MediaKind {
    /// Most bytes: 5 MiB of a picture, 32 MiB of a document, 25 MiB of a recording.
    #[must_use]
    pub const fn max_bytes(self) -> usize {
        match self {
            Self::Image => 5 << 20,
            Self::Pdf => 32 << 20,
            Self::Audio => 25 << 20,
        }
    }
}

/// Says why bytes are no media a model can be given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MediaError {
    /// No model takes this type.
    #[error("`{found}` is no media type that models take; expected {}", known())]
    Type {
        /// The type given, capped and escaped.
        found: String,
    },
    /// The bytes begin like nothing that is known.
    #[error("the bytes are no image, PDF or recording that is known; expected {}", known())]
    Unknown,
    /// The bytes are of another type than was said.
    #[error("the bytes are {found}, not {expected}")]
    Mismatch {
        /// The type that was said.
        expected: MediaType,
        /// What the bytes begin like.
        found: String,
    },
    /// There are too many bytes.
    #[error("{found} bytes of {media_type} are too many, at most {limit} are taken")]
    TooLarge {
        /// The type.
        media_type: MediaType,
        /// How many there are.
        found: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// The stored form is not base64.
    #[error("the data is not base64: {0}")]
    Base64(String),
}

fn known() -> String {
    MediaType::ALL.map(MediaType::as_str).join(", ")
}

/// Bytes whose type was checked against how they begin. Cloning is cheap.
///
/// That the rest of the bytes is a good image, document or recording is not checked.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Media {
    media_type: MediaType,
    bytes: Arc<[u8]>,
}

/// How media is written in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    media_type: String,
    data: String,
}

impl Media {
    /// Takes bytes that are said to be of this type.
    ///
    /// # Errors
    /// [`MediaError`] when no model takes the type, the bytes begin like another, or there are too many.
    pub fn new(media_type: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Self, MediaError> {
        let known = MediaType::ALL.into_iter().find(|known| known.as_str() == media_type);
        let expected =
            known.ok_or_else(|| MediaError::Type { found: escape_control(&cap_chars(media_type, 100)) })?;
        let bytes = bytes.into();
        match MediaType::of(&bytes) {
            Some(found) if found == expected => Self::within_limit(expected, bytes),
            Some(found) => Err(MediaError::Mismatch { expected, found: found.to_string() }),
            None => Err(MediaError::Mismatch { expected, found: "of no known type".to_owned() }),
        }
    }

    /// Takes bytes and finds their type.
    ///
    /// # Errors
    /// [`MediaError`] when they begin like no type that is known, or there are too many.
    pub fn detect(bytes: impl Into<Arc<[u8]>>) -> Result<Self, MediaError> {
        let bytes = bytes.into();
        Self::within_limit(MediaType::of(&bytes).ok_or(MediaError::Unknown)?, bytes)
    }

    fn within_limit(media_type: MediaType, bytes: Arc<[u8]>) -> Result<Self, MediaError> {
        let limit = media_type.kind().max_bytes();
        if bytes.len() > limit {
            return Err(MediaError::TooLarge { media_type, found: bytes.len(), limit });
        }
        Ok(Self { media_type, bytes })
    }

    /// The type.
    #[must_use]
    pub const fn media_type(&self) -> MediaType {
        self.media_type
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes as the wire of every vendor carries them.
    #[must_use]
    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Media({}, {} bytes)", self.media_type, self.bytes.len())
    }
}

impl TryFrom<Stored> for Media {
    type Error = MediaError;
    fn try_from(stored: Stored) -> Result<Self, MediaError> {
        let bytes = STANDARD.decode(stored.data).map_err(|error| MediaError::Base64(error.to_string()))?;
        Self::new(&stored.media_type, bytes)
    }
}

impl From<Media> for Stored {
    fn from(media: Media) -> Self {
        Self { media_type: media.media_type.as_str().to_owned(), data: media.to_base64() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Block;
    use serde_json::json;

    fn samples() -> Vec<(MediaType, Vec<u8>)> {
        let sample = |media_type, bytes: &[u8]| (media_type, bytes.to_vec());
        vec![
            sample(MediaType::Png, b"\x89PNG\r\n\x1a\n...."),
            sample(MediaType::Jpeg, b"\xff\xd8\xff\xe0..JFIF"),
            sample(MediaType::Gif, b"GIF89a...."),
            sample(MediaType::Webp, b"RIFF\0\0\0\0WEBPVP8 "),
            sample(MediaType::Pdf, b"%PDF-1.7\n...."),
            sample(MediaType::Wav, b"RIFF\0\0\0\0WAVEfmt "),
            sample(MediaType::Mp3, b"ID3\x04\0...."),
            sample(MediaType::Mp3, b"\xff\xfb\x90\x44...."),
            sample(MediaType::Flac, b"fLaC\0\0\0\x22"),
            sample(MediaType::Ogg, b"OggS\0\x02...."),
        ]
    }

    /// H-38.
    #[test]
    fn a_media_type_is_held_against_the_bytes_when_it_is_made() {
        for (media_type, bytes) in samples() {
            assert_eq!(Media::detect(bytes.clone()).unwrap().media_type(), media_type);
            for said in MediaType::ALL {
                let made = Media::new(said.as_str(), bytes.clone());
                assert_eq!(made.is_ok(), said == media_type, "{said} for {media_type}: {made:?}");
            }
        }
        for nothing in [&b""[..], b"RIFF\0\0\0\0AVI ", b"<svg>", b"\xff\xff", b"MZ\x90\0"] {
            assert_eq!(Media::detect(nothing).unwrap_err(), MediaError::Unknown);
        }
        let wrong = Media::new("image/png", &b"GIF89a"[..]).unwrap_err();
        assert_eq!(wrong.to_string(), "the bytes are image/gif, not image/png");
        let unknown = Media::new("image/svg+xml\x1b", &b"<svg>"[..]).unwrap_err().to_string();
        assert!(unknown.starts_with(r"`image/svg+xml\u{1b}` is no media type that models take"), "{unknown}");
    }

    #[test]
    fn more_bytes_than_models_take_are_refused() {
        for (start, kind) in [
            (&b"\x89PNG\r\n\x1a\n"[..], MediaKind::Image),
            (b"%PDF-", MediaKind::Pdf),
            (b"ID3", MediaKind::Audio),
        ] {
            let mut bytes = start.to_vec();
            bytes.resize(kind.max_bytes(), 0);
            assert!(Media::detect(bytes.clone()).is_ok());
            bytes.push(0);
            assert!(matches!(Media::detect(bytes), Err(MediaError::TooLarge { .. })), "{kind:?}");
        }
    }

    #[test]
    fn media_is_base64_in_json_and_checked_when_it_is_read() {
        let media = Media::detect(&b"GIF89a"[..]).unwrap();
        let block = Block::Media { media: media.clone() };
        let json = serde_json::to_value(&block).unwrap();
        assert_eq!(json, json!({"type": "media", "media": {"media_type": "image/gif", "data": "R0lGODlh"}}));
        assert_eq!(serde_json::from_value::<Block>(json).unwrap(), block);
        for (media_type, data) in [("image/png", "R0lGODlh"), ("image/gif", "R0l*"), ("text/plain", "aGk=")] {
            assert!(
                serde_json::from_value::<Media>(json!({"media_type": media_type, "data": data})).is_err()
            );
        }
        assert_eq!(
            format!("{media:?} {}", block.to_text()),
            "Media(image/gif, 6 bytes) [6 bytes of image/gif]"
        );
    }
}

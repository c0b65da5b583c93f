//! Images, documents and recordings in requests.

use hotcell_core::content::Block;
use hotcell_core::media::Media;
use hotcell_core::message::Message;
use hotcell_core::model::ModelError;
use serde_json::{Value, json};

use super::requests::sent;
use super::{ask, request, settings};

fn user(block: Block) -> Message {
    Message::User { content: vec![Block::text("look"), block] }
}

fn media(bytes: &[u8]) -> Block {
    Block::Media { media: Media::detect(bytes).unwrap() }
}

/// H-38.
#[tokio::test]
async fn what_the_protocol_can_carry_is_sent_as_base64_beside_the_text() {
    for (bytes, part) in [
        (
            &b"GIF89a"[..],
            json!({"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh", "detail": "auto"}}),
        ),
        (
            b"%PDF-1.7",
            json!({"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0xLjc=", "filename": "document.pdf"}}),
        ),
        (b"ID3", json!({"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}})),
        (
            b"RIFF\0\0\0\0WAVE",
            json!({"type": "input_audio", "input_audio": {"data": "UklGRgAAAABXQVZF", "format": "wav"}}),
        ),
    ] {
        let body: Value = sent(request([user(media(bytes))], &[])).await;
        assert_eq!(body["messages"][0]["content"], json!([{"type": "text", "text": "look"}, part]));
    }
}

/// H-38.
#[tokio::test]
async fn what_the_protocol_cannot_carry_is_an_error_before_anything_is_sent() {
    let blob = Block::Blob { media_type: "video/mp4".into(), bytes: vec![1, 2, 3] };
    for (block, name) in [(media(b"fLaC"), "audio/flac"), (media(b"OggS"), "audio/ogg"), (blob, "video/mp4")]
    {
        // Nobody listens at this address: an error of the connection would read otherwise.
        let error = ask(settings("http://127.0.0.1:9/v1"), request([user(block)], &[])).await.unwrap_err();
        let ModelError::Provider { message, status: None } = error else { panic!("{error:?}") };
        assert!(message.starts_with(&format!("nothing was sent: {name} cannot be sent")), "{message}");
    }
}

use super::*;

#[test]
fn tool_names_keep_to_the_characters_every_vendor_accepts() {
    for good in ["a", "csv_query", "A-1", &"x".repeat(64)] {
        assert_eq!(ToolName::parse(good).unwrap().as_str(), good);
    }
    for bad in ["", "a b", "ünicode", "a.b", "a/b", "\u{202e}x", &"x".repeat(65)] {
        assert!(ToolName::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn ids_refuse_control_characters_and_excess() {
    assert!(RunId::parse("run-1").is_ok());
    assert!(RunId::parse("").is_err());
    assert!(RunId::parse("a\nb").is_err());
    assert!(RunId::parse("a".repeat(257)).is_err());
    assert!(serde_json::from_str::<RunId>("\"\\u0000\"").is_err());
}

#[test]
fn a_digest_round_trips_through_its_text() {
    let digest = Digest::of(b"abc");
    let text = digest.to_string();
    assert_eq!(text, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(text.parse::<Digest>().unwrap(), digest);
    for bad in ["", "sha256:", "sha256:zz", "ba78", &text.replace('b', "+"), &format!("{text}0")] {
        assert!(bad.parse::<Digest>().is_err(), "{bad:?}");
    }
}

use super::*;

fn check(bytes: &[u8], expected: FileKind) {
    assert_eq!(recognise(bytes), Err(LoadError::NotComponent { found: expected }), "{bytes:?}");
}

#[test]
fn each_kind_of_file_is_named() {
    check(b"\0asm\x01\0\0\0", FileKind::CoreModule);
    check(b"\0asm\x0e\0\x01\0", FileKind::OtherWasm);
    check(b"(component)", FileKind::WasmText);
    check(b"\xef\xbb\xbf\n ;; a comment\n(module)", FileKind::WasmText);
    check(b"\x7fELF\x02\x01\x01\xc8rest", FileKind::Precompiled);
    check(b"\x7fELF\x02\x01\x01\0rest", FileKind::NativeProgram);
    check(b"\x7fELF", FileKind::NativeProgram);
    check(b"MZ\x90\0", FileKind::WindowsProgram);
    check(b"\xcf\xfa\xed\xfe\x07\0\0\x01", FileKind::MacProgram);
    check(b"#!/bin/sh\n", FileKind::Script);
    check(b"\n <!DOCTYPE HTML><title>404</title>", FileKind::WebPage);
    check(b"<html lang=en>", FileKind::WebPage);
    check(b"PK\x03\x04....", FileKind::Zip);
    check(b"\x1f\x8b\x08\0", FileKind::Gzip);
    for archive in [&b"\x28\xb5\x2f\xfd.."[..], b"\xfd7zXZ\0", b"BZh9", b"7z\xbc\xaf\x27\x1c", b"!<arch>\n"] {
        check(archive, FileKind::Archive);
    }
    check(&[&[0_u8; 257], b"ustar\0".as_slice()].concat(), FileKind::Archive);
    check(b"{\"hello\": 1}", FileKind::Json);
    check(b"hello", FileKind::Text);
    check("ünïcode text".as_bytes(), FileKind::Text);
    check(b"\xff\xfe\xfd", FileKind::Unknown);
    check(b"text\0with a null", FileKind::Unknown);
}

#[test]
fn a_long_text_whose_probe_ends_inside_a_character_is_still_text() {
    let text = format!("a{}", "é".repeat(TEXT_PROBE_BYTES));
    check(text.as_bytes(), FileKind::Text);
}

#[test]
fn a_file_shorter_than_its_header_is_called_cut_off() {
    assert_eq!(recognise(b""), Err(LoadError::Empty));
    for bytes in [b"\0".as_slice(), b"\0as", b"\0asm", b"\0asm\x0d\0\x01"] {
        assert!(matches!(recognise(bytes), Err(LoadError::Truncated { .. })), "{bytes:?}");
    }
    assert_eq!(recognise(b"\0asm\x0d\0\x01\0"), Ok(()));
}

#[test]
fn every_kind_says_what_to_do() {
    for found in [FileKind::CoreModule, FileKind::WasmText, FileKind::Precompiled, FileKind::Unknown] {
        let error = LoadError::NotComponent { found };
        assert!(error.to_string().starts_with("expected a WebAssembly component, found "), "{error}");
        assert!(error.advice().len() > 20, "{}", error.advice());
    }
}

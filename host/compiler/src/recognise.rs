//! What a file is, told from its first bytes.

use crate::error::{FileKind, LoadError};

const WASM: &[u8] = b"\0asm";
/// Version 0x0d, layer 1: the binary form of the component model.
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];
const MODULE: [u8; 4] = [1, 0, 0, 0];
/// Where an ELF file says which system it is for, and what wasmtime writes there.
const ELF_OS: (usize, u8) = (7, 200);
/// How much of a file is looked at to tell text from other bytes.
const TEXT_PROBE_BYTES: usize = 4096;

/// Checks that the bytes start as a component does; says what they are when they do not.
///
/// This is cheap and no more than a first look: a component that passes can still be broken.
///
/// # Errors
/// [`LoadError::Empty`], [`LoadError::Truncated`] or [`LoadError::NotComponent`].
pub fn recognise(bytes: &[u8]) -> Result<(), LoadError> {
    if bytes.is_empty() {
        return Err(LoadError::Empty);
    }
    match bytes.strip_prefix(WASM) {
        Some(rest) => recognise_wasm(bytes.len(), rest),
        None if bytes.len() < WASM.len() && WASM.starts_with(bytes) => Err(cut_header(bytes.len())),
        None => Err(LoadError::NotComponent { found: other(bytes) }),
    }
}

fn recognise_wasm(bytes: usize, rest: &[u8]) -> Result<(), LoadError> {
    match rest.first_chunk::<4>() {
        None => Err(cut_header(bytes)),
        Some(&COMPONENT) => Ok(()),
        Some(&MODULE) => Err(LoadError::NotComponent { found: FileKind::CoreModule }),
        Some(_) => Err(LoadError::NotComponent { found: FileKind::OtherWasm }),
    }
}

fn cut_header(bytes: usize) -> LoadError {
    LoadError::Truncated { bytes: bytes as u64, place: "its header".into() }
}

fn other(bytes: &[u8]) -> FileKind {
    const MAGIC: [(&[u8], FileKind); 17] = [
        (b"PK\x03\x04", FileKind::Zip),
        (b"PK\x05\x06", FileKind::Zip),
        (b"\x1f\x8b", FileKind::Gzip),
        (b"BZh", FileKind::Archive),
        (b"\xfd7zXZ\0", FileKind::Archive),
        (b"\x28\xb5\x2f\xfd", FileKind::Archive),
        (b"7z\xbc\xaf\x27\x1c", FileKind::Archive),
        (b"!<arch>\n", FileKind::Archive),
        (b"Rar!\x1a\x07", FileKind::Archive),
        (b"\x04\x22\x4d\x18", FileKind::Archive),
        (b"MZ", FileKind::WindowsProgram),
        (b"\xfe\xed\xfa\xce", FileKind::MacProgram),
        (b"\xfe\xed\xfa\xcf", FileKind::MacProgram),
        (b"\xce\xfa\xed\xfe", FileKind::MacProgram),
        (b"\xcf\xfa\xed\xfe", FileKind::MacProgram),
        (b"\xca\xfe\xba\xbe", FileKind::MacProgram),
        (b"#!", FileKind::Script),
    ];
    if bytes.starts_with(b"\x7fELF") {
        let (place, wasmtime) = ELF_OS;
        return match bytes.get(place) {
            Some(&os) if os == wasmtime => FileKind::Precompiled,
            Some(_) | None => FileKind::NativeProgram,
        };
    }
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return *kind;
    }
    if bytes.get(257..262) == Some(b"ustar".as_slice()) {
        return FileKind::Archive;
    }
    text(bytes)
}

fn text(bytes: &[u8]) -> FileKind {
    let probe = bytes.get(..TEXT_PROBE_BYTES).unwrap_or(bytes);
    let text = match std::str::from_utf8(probe) {
        Ok(text) => text,
        // The probe may end inside of a character.
        Err(error) if error.error_len().is_none() && probe.len() == TEXT_PROBE_BYTES => {
            std::str::from_utf8(probe.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_not_text) => return FileKind::Unknown,
    };
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}')) {
        return FileKind::Unknown;
    }
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with("(component")
        || start.starts_with("(module")
        || start.starts_with(";;")
        || start.starts_with("(;")
    {
        FileKind::WasmText
    } else if is_page(start) {
        FileKind::WebPage
    } else if start.starts_with(['{', '[']) {
        FileKind::Json
    } else {
        FileKind::Text
    }
}

fn is_page(text: &str) -> bool {
    ["<!doctype html", "<html"]
        .iter()
        .any(|start| text.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start)))
}

#[cfg(test)]
mod tests;

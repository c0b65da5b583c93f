//! The outermost layer of a component: a header, then sections with a number and a length.

use crate::error::LoadError;

const HEADER_BYTES: usize = 8;
const CUSTOM: u8 = 0;

/// One section.
#[derive(Debug, Clone, Copy)]
struct Section<'a> {
    id: u8,
    /// With its number and length in front.
    whole: &'a [u8],
    body: &'a [u8],
}

/// The sections of a component, in order; ends after the first that is cut off.
#[derive(Debug)]
struct Sections<'a> {
    component: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Sections<'a> {
    fn of(component: &'a [u8]) -> Self {
        Self { component, rest: component.get(HEADER_BYTES..).unwrap_or_default() }
    }

    fn take(&mut self) -> Option<Section<'a>> {
        let (&id, after) = self.rest.split_first()?;
        let (length, after) = read_leb(after)?;
        let (body, next) = after.split_at_checked(length)?;
        let whole = self.rest.get(..self.rest.len() - next.len())?;
        self.rest = next;
        Some(Section { id, whole, body })
    }
}

impl<'a> Iterator for Sections<'a> {
    type Item = Result<Section<'a>, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let section = self.take();
        if section.is_none() {
            self.rest = &[];
        }
        let bytes = self.component.len() as u64;
        Some(section.ok_or_else(|| LoadError::Truncated { bytes, place: "a section".into() }))
    }
}

/// Checks that no section claims more bytes than the file has.
///
/// A file cut between two sections passes: a component has no end mark.
pub(crate) fn check_whole(component: &[u8]) -> Result<(), LoadError> {
    Sections::of(component).try_for_each(|section| section.map(|_| ()))
}

/// The component with every top-level custom section of this name removed and one of this content appended.
///
/// Custom sections may stand anywhere and nothing refers to them, so the component stays as valid as it was.
pub(crate) fn replace_custom(component: &[u8], name: &str, content: &[u8]) -> Result<Vec<u8>, LoadError> {
    let mut out = Vec::with_capacity(component.len() + content.len() + name.len() + 16);
    out.extend_from_slice(component.get(..HEADER_BYTES).unwrap_or(component));
    for section in Sections::of(component) {
        let section = section?;
        if section.id != CUSTOM || custom_name(section.body) != Some(name.as_bytes()) {
            out.extend_from_slice(section.whole);
        }
    }
    let mut body = Vec::with_capacity(content.len() + name.len() + 8);
    write_leb(name.len(), &mut body);
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(content);
    out.push(CUSTOM);
    write_leb(body.len(), &mut out);
    out.extend_from_slice(&body);
    Ok(out)
}

fn custom_name(body: &[u8]) -> Option<&[u8]> {
    let (length, rest) = read_leb(body)?;
    rest.get(..length)
}

/// Reads an unsigned LEB128 number of at most 32 bits.
fn read_leb(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let value = u32::try_from(value).ok()?;
            return Some((usize::try_from(value).ok()?, bytes.get(index + 1..)?));
        }
    }
    None
}

fn write_leb(mut value: usize, out: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or(0x7f);
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_at_every_length() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 2_097_152, u32::MAX as usize] {
            let mut bytes = Vec::new();
            write_leb(value, &mut bytes);
            bytes.push(9);
            assert_eq!(read_leb(&bytes), Some((value, [9].as_slice())), "{value}");
        }
        assert_eq!(read_leb(&[0xff; 6]), None);
        assert_eq!(read_leb(&[0x80]), None);
    }
}

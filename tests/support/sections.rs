//! The sections of a component, for tests that cut it apart and put broken ones together.

/// Where each section of a component begins, and where the last one ends. Nested sections are not looked into.
///
/// # Panics
/// When the bytes are not those of a component that is whole.
#[must_use]
pub fn boundaries(component: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut place = 8;
    while place < component.len() {
        places.push(place);
        let (length, digits) = number(component.get(place + 1..).expect("a section has a length"));
        place += 1 + digits + length;
    }
    assert_eq!(place, component.len(), "the last section ends with the file");
    places.push(place);
    places
}

/// Where the trailing custom sections of a component begin: what is in front of them is a whole component too.
///
/// # Panics
/// As [`boundaries`].
#[must_use]
pub fn end_of_code(component: &[u8]) -> usize {
    let places = boundaries(component);
    let is_custom = |place: &usize| component.get(*place).is_none_or(|id| *id == 0);
    *places.iter().rev().take_while(|place| is_custom(place)).last().expect("the end is one of them")
}

/// Components inside of each other, without anything else; the text form cannot be written so deep.
#[must_use]
pub fn nested(levels: usize) -> Vec<u8> {
    let header = b"\0asm\x0d\0\x01\0".to_vec();
    let mut component = header.clone();
    for _ in 0..levels {
        let length = encoded(component.len());
        component = [header.clone(), vec![4], length, component].concat();
    }
    component
}

/// A component of one custom section with so many zeros inside.
#[must_use]
pub fn custom_section_of(bytes: usize) -> Vec<u8> {
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    component.push(0);
    component.extend(encoded(bytes + 2));
    component.extend([1, b'c']);
    component.resize(component.len() + bytes, 0);
    component
}

/// An unsigned number as the format writes it.
fn encoded(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
    bytes
}

/// The number that the bytes begin with, and how many bytes it takes.
fn number(bytes: &[u8]) -> (usize, usize) {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return (value, place + 1);
        }
    }
    panic!("a number that does not end")
}

/// Random numbers that are the same each time.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each number but zero.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below the limit.
    ///
    /// # Panics
    /// When the limit is zero.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("smaller than a size")
    }
}

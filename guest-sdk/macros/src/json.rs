//! Whether a text is a JSON object (RFC 8259), checked while the author's crate compiles.
//!
//! Written out here, because a JSON library in a macro crate would be compiled by everyone for one check.

/// Deeper nesting is refused, so that no text can exhaust the stack of the compiler.
const MAX_DEPTH: u32 = 64;

/// Checks that the text is one JSON object.
///
/// # Errors
/// What was expected, and at which byte.
pub(crate) fn check_object(text: &str) -> Result<(), String> {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
    reader.space();
    if reader.peek() != Some(b'{') {
        return reader.expected("`{`");
    }
    reader.value(0)?;
    reader.space();
    if reader.peek().is_some() { reader.expected("the end") } else { Ok(()) }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
        }
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expected<T>(&self, what: &str) -> Result<T, String> {
        let found = match self.peek() {
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
            Some(_) => "another character".into(),
            None => "the end".into(),
        };
        Err(format!("expected {what} at byte {}, found {found}", self.at))
    }

    fn value(&mut self, depth: u32) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels at byte {}", self.at));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.list(b'}', |reader| {
                reader.space();
                reader.string()?;
                reader.space();
                if !reader.take(b':') {
                    return reader.expected("`:`");
                }
                reader.value(depth + 1)
            }),
            Some(b'[') => self.list(b']', |reader| reader.value(depth + 1)),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(_) | None => self.expected("a value"),
        }
    }

    fn list(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        self.at += 1;
        self.space();
        if self.take(end) {
            return Ok(());
        }
        loop {
            item(self)?;
            self.space();
            if self.take(end) {
                return Ok(());
            }
            if !self.take(b',') {
                return self.expected(&format!("`,` or `{}`", char::from(end)));
            }
        }
    }

    fn string(&mut self) -> Result<(), String> {
        if !self.take(b'"') {
            return self.expected("`\"`");
        }
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(0x20..) => self.at += 1,
                Some(_) | None => return self.expected("`\"`"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return self.expected("a hexadecimal digit");
                    }
                    self.at += 1;
                }
                Ok(())
            }
            Some(_) | None => self.expected("an escape such as `\\n`"),
        }
    }

    fn number(&mut self) -> Result<(), String> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), String> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return self.expected("a digit");
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        for byte in word.bytes() {
            if !self.take(byte) {
                return self.expected(&format!("`{word}`"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_pass() {
        for text in [
            "{}",
            " { \"a\" : [ 1 , -2.5e+3, 0, 1E-1 ] , \"b\" : { } } ",
            r#"{"ä": "\u00e4\n\"", "c": [true, false, null, []]}"#,
        ] {
            assert_eq!(check_object(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_place() {
        for text in [
            "",
            "1",
            "[]",
            "{",
            "{]",
            "{a: 1}",
            "{\"a\"}",
            "{\"a\": }",
            "{\"a\": 1,}",
            "{\"a\": 01}",
            "{\"a\": 1.}",
            "{\"a\": +1}",
            "{\"a\": tru}",
            "{\"a\": \"\\x\"}",
            "{\"a\": \"\\u12g4\"}",
            "{\"a\": \"\n\"}",
            "{} {}",
            "{\"a",
        ] {
            assert!(check_object(text).unwrap_err().contains("at byte"), "{text}");
        }
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(check_object(&deep).unwrap_err().contains("deeper"));
    }
}

//! Sums the `test result:` lines that test binaries print.

/// How much of one line is kept; a result line is about 100 bytes long.
const MAX_LINE_BYTES: usize = 512;

/// Passed, failed and ignored tests of a stream of output.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    line: Vec<u8>,
}

impl Tally {
    /// Takes the next bytes of the output, however they are cut.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else if self.line.len() < MAX_LINE_BYTES {
                self.line.push(byte);
            }
        }
    }

    /// Ends the output: a last line without a line break counts too.
    pub(crate) fn finish(&mut self) {
        self.end_line();
    }

    /// Passed, failed, ignored.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        (self.passed, self.failed, self.ignored)
    }

    fn end_line(&mut self) {
        let line = without_colours(&String::from_utf8_lossy(&self.line));
        self.line.clear();
        if let Some((passed, failed, ignored)) = result_line(&line) {
            self.passed = self.passed.saturating_add(passed);
            self.failed = self.failed.saturating_add(failed);
            self.ignored = self.ignored.saturating_add(ignored);
        }
    }
}

/// Reads `test result: ok. 12 passed; 0 failed; 1 ignored; ...`; any other line is none.
fn result_line(line: &str) -> Option<(u64, u64, u64)> {
    let (verdict, counts) = line.trim_end().strip_prefix("test result: ")?.split_once(". ")?;
    if verdict != "ok" && verdict != "FAILED" {
        return None;
    }
    let (mut passed, mut failed, mut ignored) = (None, None, 0);
    for count in counts.split("; ") {
        match count.split_once(' ') {
            Some((number, "passed")) => passed = Some(number.parse().ok()?),
            Some((number, "failed")) => failed = Some(number.parse().ok()?),
            Some((number, "ignored")) => ignored = number.parse().ok()?,
            Some(_) | None => {}
        }
    }
    Some((passed?, failed?, ignored))
}

/// Drops terminal colours: `ESC [ parameters m`.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests;

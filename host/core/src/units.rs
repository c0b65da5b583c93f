//! Durations and sizes as people write them.

use std::time::Duration;

use thiserror::Error;

/// Says why a text is not a duration or a size.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{found}` is not a {expected}; write a whole number and a unit, such as {example}")]
pub struct UnitError {
    found: String,
    expected: &'static str,
    example: &'static str,
}

/// Reads `500ms`, `10s`, `5m` or `2h`; the number is whole and greater than zero.
///
/// # Errors
/// Anything else, with an example of what is expected.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError {
        found: crate::text::escape_control(&crate::text::cap_chars(text, 60)),
        expected: "duration greater than zero",
        example: "`500ms`, `10s`, `5m` or `2h`",
    };
    let (number, unit) = split(text).ok_or_else(error)?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(error()),
    };
    match number.checked_mul(milliseconds) {
        Some(total) if total > 0 => Ok(Duration::from_millis(total)),
        Some(_) | None => Err(error()),
    }
}

/// Reads `64MiB`, `256KiB`, `1GiB` or `4096B`; the number is whole and greater than zero.
///
/// # Errors
/// Anything else, with an example of what is expected.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let error = || UnitError {
        found: crate::text::escape_control(&crate::text::cap_chars(text, 60)),
        expected: "size greater than zero",
        example: "`64MiB`, `256KiB`, `1GiB` or `4096B`",
    };
    let (number, unit) = split(text).ok_or_else(error)?;
    let factor = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(error()),
    };
    match number.checked_mul(factor) {
        Some(total) if total > 0 => Ok(total),
        Some(_) | None => Err(error()),
    }
}

fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim_start()))
}

/// Writes a size with the largest unit that keeps it readable.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, size) in UNITS {
        if bytes >= size {
            let tenths = bytes / (size / 10).max(1);
            return if bytes.is_multiple_of(size) {
                format!("{} {unit}", bytes / size)
            } else {
                format!("{}.{} {unit}", tenths / 10, tenths % 10)
            };
        }
    }
    format!("{bytes} B")
}

/// Writes a duration in microseconds, milliseconds or seconds.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let micros = duration.as_micros();
    if micros < 1_000 {
        format!("{micros} us")
    } else if micros < 1_000_000 {
        format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100)
    } else {
        format!("{}.{:02} s", micros / 1_000_000, micros % 1_000_000 / 10_000)
    }
}

/// Serialises a [`Duration`] as whole milliseconds.
pub mod millis {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Writes whole milliseconds.
    ///
    /// # Errors
    /// As the serialiser.
    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    /// Reads whole milliseconds.
    ///
    /// # Errors
    /// As the deserialiser.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Ok(Duration::from_millis(u64::deserialize(from)?))
    }
}

/// Serialises a time limit as whole milliseconds, rounded up: a limit that exists is not read back as none.
pub mod limit_millis {
    use std::time::Duration;

    use serde::{Deserializer, Serializer};

    /// Writes whole milliseconds.
    ///
    /// # Errors
    /// As the serialiser.
    pub fn serialize<S: Serializer>(limit: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// Reads whole milliseconds.
    ///
    /// # Errors
    /// As the deserialiser.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        super::millis::deserialize(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_read_as_people_write_them() {
        assert_eq!(parse_duration("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(parse_duration(" 2 h ").unwrap(), Duration::from_secs(7200));
        assert_eq!(parse_bytes("64MiB").unwrap(), 64 << 20);
        for bad in ["", "10", "-1s", "0s", "1.5s", "10 parsecs", "s", "99999999999999999999s"] {
            assert!(parse_duration(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "64", "64MB", "0B", "-1KiB", "18446744073709551615GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn sizes_and_durations_print_readably() {
        assert_eq!(format_bytes(64 << 20), "64 MiB");
        assert_eq!(format_bytes(1_200_000), "1.1 MiB");
        assert_eq!(format_bytes(12), "12 B");
        assert_eq!(format_duration(Duration::from_micros(1_234)), "1.2 ms");
        assert_eq!(format_duration(Duration::from_millis(2_050)), "2.05 s");
    }
}

//! Decimal numbers, exact: money adds up to what the invoice says.

use std::cmp::Ordering;
use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Most decimal places of a number.
const MAX_SCALE: u32 = 18;

/// Most digits of a number that is read.
const MAX_DIGITS: usize = 28;

/// Decimal places a mean is rounded to, unless its numbers have more.
const MEAN_SCALE: u32 = 6;

/// Digits every JSON reader keeps; longer numbers are written as text.
const JSON_DIGITS: usize = 15;

/// `value` divided by ten to the power of `scale`, with no zeros at the end of its decimal places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    value: i128,
    scale: u32,
}

/// Says that a number has more digits than this tool keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl Decimal {
    pub(crate) const ZERO: Self = Self { value: 0, scale: 0 };

    fn new(mut value: i128, mut scale: u32) -> Self {
        while scale > 0 && value % 10 == 0 {
            value /= 10;
            scale -= 1;
        }
        Self { value, scale }
    }

    /// A whole number.
    pub(crate) fn whole(value: u64) -> Self {
        Self::new(i128::from(value), 0)
    }

    /// Reads `-12.50`; anything else is text, such as `007`, `+1`, `1e3` or `1,000`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, places) = match digits.split_once('.') {
            Some((whole, places)) if !places.is_empty() => (whole, places),
            Some(_) => return None,
            None => (digits, ""),
        };
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || leading_zero || !all_digits(whole) || !all_digits(places) {
            return None;
        }
        let scale = u32::try_from(places.len()).ok().filter(|scale| *scale <= MAX_SCALE)?;
        if whole.len() + places.len() > MAX_DIGITS {
            return None;
        }
        let value: i128 = format!("{whole}{places}").parse().ok()?;
        Some(Self::new(if negative { -value } else { value }, scale))
    }

    pub(crate) fn add(self, other: Self) -> Result<Self, TooLarge> {
        let scale = self.scale.max(other.scale);
        let sum = self.at(scale)?.checked_add(other.at(scale)?).ok_or(TooLarge)?;
        Ok(Self::new(sum, scale))
    }

    pub(crate) fn times(self, other: Self) -> Result<Self, TooLarge> {
        let value = self.value.checked_mul(other.value).ok_or(TooLarge)?;
        let product = Self::new(value, self.scale + other.scale);
        if product.scale > MAX_SCALE { Err(TooLarge) } else { Ok(product) }
    }

    /// Divides, rounded to six decimal places or those of the number, half away from zero.
    pub(crate) fn divided_by(self, count: u64) -> Result<Self, TooLarge> {
        let scale = self.scale.max(MEAN_SCALE);
        let (value, count) = (self.at(scale)?, i128::from(count.max(1)));
        let (quotient, rest) = (value / count, value % count);
        let up = if rest.abs() * 2 >= count { rest.signum() } else { 0 };
        Ok(Self::new(quotient + up, scale))
    }

    fn at(self, scale: u32) -> Result<i128, TooLarge> {
        let factor = 10_i128.checked_pow(scale - self.scale).ok_or(TooLarge)?;
        self.value.checked_mul(factor).ok_or(TooLarge)
    }

    /// The whole part and the rest in units of the smallest place; orders like the number itself.
    fn parts(self) -> (i128, i128) {
        let unit = 10_i128.pow(self.scale);
        let rest = self.value.rem_euclid(unit) * 10_i128.pow(MAX_SCALE - self.scale);
        (self.value.div_euclid(unit), rest)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.value < 0 { "-" } else { "" };
        let unit = 10_u128.pow(self.scale);
        let (whole, places) = (self.value.unsigned_abs() / unit, self.value.unsigned_abs() % unit);
        match usize::try_from(self.scale) {
            Ok(scale) if scale > 0 => write!(f, "{sign}{whole}.{places:0scale$}"),
            Ok(_) | Err(_) => write!(f, "{sign}{whole}"),
        }
    }
}

/// A JSON number when every reader keeps all of its digits, else a text with them.
impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text = self.to_string();
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        if digits > JSON_DIGITS {
            return to.serialize_str(&text);
        }
        match (i64::try_from(self.value), text.parse::<f64>()) {
            (Ok(whole), _) if self.scale == 0 => to.serialize_i64(whole),
            // At most 15 digits: the nearest float prints as the same digits again.
            (_, Ok(float)) => to.serialize_f64(float),
            (_, Err(_)) => to.serialize_str(&text),
        }
    }
}

impl JsonSchema for Decimal {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Decimal".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["number", "string"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn numbers_read_and_print_without_change() {
        for text in ["0", "-1", "12.5", "0.05", "-0.001", "123456789012345678", "1.000000000000000001"] {
            assert_eq!(number(text).to_string(), text);
        }
        assert_eq!(number("2.50").to_string(), "2.5");
        assert_eq!(number("-0.0").to_string(), "0");
    }

    #[test]
    fn what_is_not_plainly_a_number_stays_text() {
        for text in [
            "",
            "-",
            "007",
            "+1",
            "1e3",
            "1,000",
            ".5",
            "5.",
            "1.2.3",
            " 1",
            "١",
            "12345678901234567890123456789",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn cents_add_up() {
        let mut sum = Decimal::ZERO;
        for _ in 0..1000 {
            sum = sum.add(number("0.1")).unwrap();
        }
        assert_eq!(sum, number("100"));
        assert_eq!(number("19.99").times(number("3")).unwrap().to_string(), "59.97");
        let large = number("9999999999999999999999999999");
        assert_eq!(large.times(large), Err(TooLarge));
        assert_eq!(number("0.0000000001").times(number("0.0000000001")), Err(TooLarge));
    }

    #[test]
    fn means_are_rounded_half_away_from_zero() {
        let table = [
            ("1", 3, "0.333333"),
            ("2", 3, "0.666667"),
            ("-2", 3, "-0.666667"),
            ("10", 4, "2.5"),
            ("0.000001", 2, "0.000001"),
        ];
        for (sum, count, expected) in table {
            assert_eq!(number(sum).divided_by(count).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn numbers_order_by_value() {
        let mut numbers =
            ["2", "10", "-3", "-2.5", "9.99", "0.1", "9999999999999999999999999999"].map(number);
        numbers.sort();
        let sorted = numbers.map(|number| number.to_string());
        assert_eq!(sorted, ["-3", "-2.5", "0.1", "2", "9.99", "10", "9999999999999999999999999999"]);
    }

    #[test]
    fn json_numbers_keep_their_digits_or_become_text() {
        let table = [
            ("3", "3"),
            ("-12.5", "-12.5"),
            ("1234567890123.45", "1234567890123.45"),
            ("12345678901234.567", "\"12345678901234.567\""),
        ];
        for (text, json) in table {
            assert_eq!(serde_json::to_string(&number(text)).unwrap(), json);
        }
    }
}

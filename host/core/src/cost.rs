//! What tokens cost, and the most a run may cost.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::config::{Checks, ConfigErrors};
use crate::model::TokenUsage;

/// An amount of money in US dollars: finite, and not negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Dollars(f64);

/// Amounts are finite, so equality is total.
impl Eq for Dollars {}

impl Dollars {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);

    /// An amount.
    ///
    /// # Errors
    /// The number is negative, infinite or none.
    pub fn new(amount: f64) -> Result<Self, ConfigErrors> {
        let mut checks = Checks::default();
        checks.expect(amount.is_finite() && amount >= 0.0, "dollars", || not_an_amount(amount));
        checks.finish().map(|()| Self(amount))
    }

    /// The number of dollars.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The sum; as large as an amount can be when it would be larger.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).min(f64::MAX))
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

impl TryFrom<f64> for Dollars {
    type Error = ConfigErrors;
    fn try_from(amount: f64) -> Result<Self, ConfigErrors> {
        Self::new(amount)
    }
}

impl From<Dollars> for f64 {
    fn from(dollars: Dollars) -> Self {
        dollars.0
    }
}

/// What the tokens of one model cost; the application knows, nobody assumes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawPrices")]
pub struct Prices {
    input_per_million: f64,
    output_per_million: f64,
    cache_read_multiplier: f64,
    cache_write_multiplier: f64,
}

/// Prices are finite, so equality is total.
impl Eq for Prices {}

/// Prices as they were written down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrices {
    input_per_million: f64,
    output_per_million: f64,
    #[serde(default = "default_read")]
    cache_read_multiplier: f64,
    #[serde(default = "default_write")]
    cache_write_multiplier: f64,
}

const fn default_read() -> f64 {
    0.1
}

const fn default_write() -> f64 {
    1.25
}

impl Prices {
    /// Prices in dollars for a million tokens of input and of output.
    ///
    /// Tokens read from a cache cost a tenth of the input price and tokens written to one a quarter
    /// more; [`Prices::cache_multipliers`] changes that.
    ///
    /// # Errors
    /// A price that is negative, infinite or none; all of them are told.
    pub fn new(input_per_million: f64, output_per_million: f64) -> Result<Self, ConfigErrors> {
        Self {
            input_per_million,
            output_per_million,
            cache_read_multiplier: default_read(),
            cache_write_multiplier: default_write(),
        }
        .checked("prices")
    }

    /// The same prices with other multiples of the input price for tokens read from and written to a cache.
    ///
    /// # Errors
    /// A multiple that is negative, infinite or none; both are told.
    pub fn cache_multipliers(self, read: f64, write: f64) -> Result<Self, ConfigErrors> {
        Self { cache_read_multiplier: read, cache_write_multiplier: write, ..self }.checked("prices")
    }

    fn checked(self, path: &str) -> Result<Self, ConfigErrors> {
        self.check(path).map(|()| self)
    }

    fn check(&self, path: &str) -> Result<(), ConfigErrors> {
        let mut checks = Checks::below(path);
        let fields = [
            ("input_per_million", self.input_per_million),
            ("output_per_million", self.output_per_million),
            ("cache_read_multiplier", self.cache_read_multiplier),
            ("cache_write_multiplier", self.cache_write_multiplier),
        ];
        for (field, value) in fields {
            checks.expect(value.is_finite() && value >= 0.0, field, || not_an_amount(value));
        }
        checks.finish()
    }

    /// What these tokens cost: uncached, cached and written input, each at its price, and the output.
    #[must_use]
    pub fn cost(&self, usage: TokenUsage) -> Dollars {
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        let input = tokens(usage.input_tokens.saturating_sub(cached))
            + tokens(usage.cache_read_tokens) * self.cache_read_multiplier
            + tokens(usage.cache_write_tokens) * self.cache_write_multiplier;
        let million = 1_000_000.0;
        let dollars = input * self.input_per_million / million
            + tokens(usage.output_tokens) * self.output_per_million / million;
        Dollars(dollars.min(f64::MAX))
    }
}

impl RawPrices {
    const fn unchecked(&self) -> Prices {
        Prices {
            input_per_million: self.input_per_million,
            output_per_million: self.output_per_million,
            cache_read_multiplier: self.cache_read_multiplier,
            cache_write_multiplier: self.cache_write_multiplier,
        }
    }
}

impl TryFrom<RawPrices> for Prices {
    type Error = ConfigErrors;
    fn try_from(raw: RawPrices) -> Result<Self, ConfigErrors> {
        raw.unchecked().checked("prices")
    }
}

/// The most a run may cost. It cannot exist without prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawCostLimit")]
pub struct CostLimit {
    max_dollars: Dollars,
    prices: Prices,
}

/// A cost limit as it was written down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCostLimit {
    max_dollars: f64,
    prices: RawPrices,
}

impl CostLimit {
    /// At most this many dollars, at these prices.
    ///
    /// # Errors
    /// The amount is not a finite number greater than zero.
    pub fn new(max_dollars: f64, prices: Prices) -> Result<Self, ConfigErrors> {
        Self { max_dollars: Dollars(max_dollars), prices }.checked("cost")
    }

    fn checked(self, path: &str) -> Result<Self, ConfigErrors> {
        self.check(path).map(|()| self)
    }

    /// Checks all fields, which stand below this path.
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigErrors> {
        let mut checks = Checks::below(path);
        let Dollars(found) = self.max_dollars;
        checks.expect(found.is_finite() && found > 0.0, "max_dollars", || {
            format!("found {found}, expected a finite number of dollars greater than zero")
        });
        checks.also(self.prices.check(&format!("{path}.prices")));
        checks.finish()
    }

    /// The most a run may cost.
    #[must_use]
    pub const fn max_dollars(&self) -> Dollars {
        self.max_dollars
    }

    /// What tokens cost.
    #[must_use]
    pub const fn prices(&self) -> &Prices {
        &self.prices
    }
}

impl RawCostLimit {
    const fn unchecked(&self) -> CostLimit {
        CostLimit { max_dollars: Dollars(self.max_dollars), prices: self.prices.unchecked() }
    }
}

impl TryFrom<RawCostLimit> for CostLimit {
    type Error = ConfigErrors;
    fn try_from(raw: RawCostLimit) -> Result<Self, ConfigErrors> {
        raw.unchecked().checked("cost")
    }
}

/// Reads a limit that is a part of what is checked as a whole.
pub(crate) fn read_unchecked<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CostLimit>, D::Error> {
    Ok(Option::<RawCostLimit>::deserialize(from)?.map(|raw| raw.unchecked()))
}

fn not_an_amount(found: f64) -> String {
    format!("found {found}, expected a finite number that is not negative")
}

/// A count as a number to multiply with.
fn tokens(count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts above 2^53 tokens do not occur")]
    let tokens = count as f64;
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H-17.
    #[test]
    fn cached_tokens_have_prices_of_their_own() {
        let prices = Prices::new(3.0, 15.0).unwrap();
        let usage = TokenUsage {
            input_tokens: 1_000_000,
            output_tokens: 200_000,
            cache_read_tokens: 500_000,
            cache_write_tokens: 100_000,
        };
        // 400,000 x 3 + 500,000 x 0.3 + 100,000 x 3.75 + 200,000 x 15, for a million
        assert!((prices.cost(usage).get() - (1.2 + 0.15 + 0.375 + 3.0)).abs() < 1e-12);
        let flat = prices.cache_multipliers(1.0, 1.0).unwrap();
        assert!((flat.cost(usage).get() - 6.0).abs() < 1e-12);
    }

    #[test]
    fn amounts_that_are_none_are_refused_and_all_are_told() {
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(
                Dollars::new(wrong).is_err()
                    && CostLimit::new(wrong, Prices::new(1.0, 1.0).unwrap()).is_err()
            );
            assert!(Prices::new(1.0, 1.0).unwrap().cache_multipliers(wrong, 1.0).is_err());
        }
        let errors = Prices::new(-1.0, f64::NAN).unwrap_err();
        let paths: Vec<_> = errors.violations().iter().map(|violation| violation.path.as_str()).collect();
        assert_eq!(paths, ["prices.input_per_million", "prices.output_per_million"]);
        assert!(CostLimit::new(0.0, Prices::new(1.0, 1.0).unwrap()).is_err());
        let without_prices = serde_json::from_str::<CostLimit>(r#"{"max_dollars": 1}"#).unwrap_err();
        assert!(without_prices.to_string().contains("prices"), "{without_prices}");
        let text = r#"{"max_dollars": 1, "prices": {"input_per_million": 3, "output_per_million": -15}}"#;
        assert!(
            serde_json::from_str::<CostLimit>(text).unwrap_err().to_string().contains("output_per_million")
        );
    }
}

//! Figures of the benches: percentiles, and one JSON object per bench on standard output.

use std::time::Duration;

use serde_json::{Value, json};

/// Measured times, in the order they were taken.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    times: Vec<Duration>,
}

impl Samples {
    /// Adds one.
    pub fn push(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The time that `percent` of the samples do not exceed; zero when there are none.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(index).copied().unwrap_or_default()
    }

    /// Count, median, 99th percentile and maximum in microseconds.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "count": self.len(),
            "p50_us": micros(self.percentile(50)),
            "p99_us": micros(self.percentile(99)),
            "max_us": micros(self.percentile(100)),
        })
    }
}

impl Extend<Duration> for Samples {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, times: I) {
        self.times.extend(times);
    }
}

/// Microseconds with a fraction.
#[must_use]
pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Prints the one object of a bench.
pub fn print(figures: &Value) {
    #[expect(clippy::print_stdout, reason = "the figures are what a bench is run for")]
    {
        println!("{figures:#}");
    }
}

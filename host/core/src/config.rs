//! What is wrong with a configuration: everything at once, each with the place of the field.

use std::error::Error as StdError;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

/// One value that cannot be.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The field, such as `limits.max_time`.
    pub path: String,
    /// What was found and what was expected.
    pub message: String,
    cause: Option<Arc<dyn StdError + Send + Sync>>,
}

/// Two violations are the same when they say the same of the same field.
impl PartialEq for Violation {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, &self.message) == (&other.path, &other.message)
    }
}

impl Eq for Violation {}

impl Violation {
    /// The error behind it, for whoever matches on errors of this type.
    #[must_use]
    pub fn cause<E: StdError + 'static>(&self) -> Option<&E> {
        self.cause.as_deref()?.downcast_ref()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Says why a configuration cannot be used. Nothing of it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ConfigErrors(Vec<Violation>);

impl ConfigErrors {
    /// Every violation, in the order of the fields; there is at least one.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.0
    }

    /// The first error of this type behind a violation.
    #[must_use]
    pub fn cause<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.iter().find_map(Violation::cause)
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("; "))
    }
}

/// Looks at the fields of a configuration and keeps what is wrong with them.
#[derive(Debug, Default)]
pub struct Checks {
    prefix: String,
    found: Vec<Violation>,
}

impl Checks {
    /// Checks of fields that stand below this path; an empty one is the top.
    pub fn below(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), found: Vec::new() }
    }

    /// Notes that the field has a value that cannot be.
    pub fn wrong(&mut self, field: &str, message: impl Into<String>) {
        let violation = Violation { path: self.path(field), message: message.into(), cause: None };
        self.found.push(violation);
    }

    /// Notes that the field has a value that led to this error; the message is that of the error.
    pub fn failed(&mut self, field: &str, error: impl StdError + Send + Sync + 'static) {
        let message = error.to_string();
        self.found.push(Violation { path: self.path(field), message, cause: Some(Arc::new(error)) });
    }

    fn path(&self, field: &str) -> String {
        match (self.prefix.as_str(), field) {
            ("", field) => field.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, field) => format!("{prefix}.{field}"),
        }
    }

    /// Notes that the field has a value that cannot be, unless it holds.
    pub fn expect(&mut self, holds: bool, field: &str, message: impl FnOnce() -> String) {
        if !holds {
            self.wrong(field, message());
        }
    }

    /// Notes that the field has a value outside of the range, unless it is in it.
    pub fn within<T: Copy + PartialOrd + fmt::Display>(
        &mut self,
        field: &str,
        found: T,
        range: &RangeInclusive<T>,
        unit: &str,
    ) {
        self.expect(range.contains(&found), field, || {
            format!("found {found}, expected {} to {} {unit}", range.start(), range.end())
        });
    }

    /// Notes that the field is no time limit: zero, or longer than the longest.
    pub fn time_limit(&mut self, field: &str, found: Duration, longest: Duration) {
        self.expect(!found.is_zero() && found <= longest, field, || {
            let days = longest.as_secs() / 86_400;
            format!("found {found:?}, expected more than zero and at most {days} days")
        });
    }

    /// Adds what other checks found, below the path of these.
    pub fn also_below(&mut self, field: &str, other: Result<(), ConfigErrors>) {
        for violation in other.err().into_iter().flat_map(|errors| errors.0) {
            let path = self.path(&format!("{field}.{}", violation.path));
            self.found.push(Violation { path, ..violation });
        }
    }

    /// Adds what other checks found, with the paths they have.
    pub fn also(&mut self, other: Result<(), ConfigErrors>) {
        self.found.extend(other.err().into_iter().flat_map(|errors| errors.0));
    }

    /// The end of the checks.
    ///
    /// # Errors
    /// Everything that was found to be wrong.
    pub fn finish(self) -> Result<(), ConfigErrors> {
        if self.found.is_empty() { Ok(()) } else { Err(ConfigErrors(self.found)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_violation_is_told_with_its_place() {
        let mut inner = Checks::below("limits.cost");
        inner.expect(true, "max_dollars", || unreachable!("it holds"));
        inner.wrong("prices", "expected two");
        let mut checks = Checks::default();
        checks.also(inner.finish());
        checks.expect(false, "temperature", || "found -1".to_owned());
        let errors = checks.finish().unwrap_err();
        assert_eq!(errors.to_string(), "limits.cost.prices: expected two; temperature: found -1");
        assert_eq!(errors.violations().len(), 2);
        assert!(Checks::default().finish().is_ok());
    }

    #[test]
    fn an_error_behind_a_violation_keeps_its_type() {
        let broken = "x".parse::<u32>().unwrap_err();
        let mut inner = Checks::default();
        inner.failed("port", broken.clone());
        inner.within("height", 3, &(4..=5), "rows");
        let mut checks = Checks::below("config");
        checks.also_below("screens[1]", inner.finish());
        let errors = checks.finish().unwrap_err();
        assert_eq!(errors.cause::<std::num::ParseIntError>(), Some(&broken));
        assert!(errors.cause::<fmt::Error>().is_none());
        let text = "config.screens[1].port: invalid digit found in string; \
            config.screens[1].height: found 3, expected 4 to 5 rows";
        assert_eq!(errors.to_string(), text);
    }
}

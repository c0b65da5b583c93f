//! What is wrong with a configuration: everything at once, each with the place of the field.

use std::fmt;

use thiserror::Error;

/// One value that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The field, such as `limits.max_time`.
    pub path: String,
    /// What was found and what was expected.
    pub message: String,
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
        let path = match (self.prefix.as_str(), field) {
            ("", field) => field.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, field) => format!("{prefix}.{field}"),
        };
        self.found.push(Violation { path, message: message.into() });
    }

    /// Notes that the field has a value that cannot be, unless it holds.
    pub fn expect(&mut self, holds: bool, field: &str, message: impl FnOnce() -> String) {
        if !holds {
            self.wrong(field, message());
        }
    }

    /// Adds what other checks found.
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
}

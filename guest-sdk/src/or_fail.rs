//! Turning foreign errors into failures with the fault in plain sight.

use std::error::Error;

use crate::failure::{Failure, Fault};

/// How many causes of an error end up in the message.
const MAX_CAUSES: usize = 8;

/// Turns an error or a missing value into a [`Failure`] whose fault is named on the spot.
///
/// ```
/// use hotcell_tool::{Failure, Fault, OrFail};
///
/// fn port(text: &str) -> Result<u16, Failure> {
///     text.parse::<u16>().or_fail(Fault::InvalidInput, "`port` is not a port number")
/// }
/// assert_eq!(port("99999").unwrap_err().message, "`port` is not a port number: number too large to fit in target type");
/// ```
pub trait OrFail<T>: Sized {
    /// The value, or a failure of this kind with `message` in front and the cause behind it.
    ///
    /// # Errors
    /// When there is no value.
    fn or_fail(self, fault: Fault, message: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Error> OrFail<T> for Result<T, E> {
    fn or_fail(self, fault: Fault, message: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| {
            let mut text = message.into();
            let mut cause: Option<&dyn Error> = Some(&error);
            for _ in 0..MAX_CAUSES {
                let Some(error) = cause else { break };
                text.push_str(": ");
                text.push_str(&error.to_string());
                cause = error.source();
            }
            Failure::new(fault, text)
        })
    }
}

impl<T> OrFail<T> for Option<T> {
    fn or_fail(self, fault: Fault, message: impl Into<String>) -> Result<T, Failure> {
        self.ok_or_else(|| Failure::new(fault, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("line 3")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn causes_stand_behind_the_message() {
        let error = "x".parse::<u8>().map_err(Outer).or_fail(Fault::Upstream, "reading prices").unwrap_err();
        assert_eq!(error, Failure::upstream("reading prices: line 3: invalid digit found in string"));
    }

    #[test]
    fn a_missing_value_becomes_the_message_alone() {
        assert_eq!(None::<u8>.or_fail(Fault::NotFound, "no row"), Err(Failure::not_found("no row")));
        assert_eq!(Some(1).or_fail(Fault::NotFound, "no row"), Ok(1));
    }
}

//! How a tool says that it failed.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

/// The kind of a failure; a host and a model decide by it what to do next.
///
/// The list is closed on purpose: finer detail belongs into [`Failure::code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The arguments make no sense to the tool.
    InvalidInput,
    /// What was asked for does not exist.
    NotFound,
    /// The tool was refused something it needs.
    Denied,
    /// Credentials are missing or wrong.
    Unauthenticated,
    /// The state of the world does not allow it.
    Conflict,
    /// Too many requests; see [`Failure::retry_after`].
    RateLimited,
    /// A service the tool depends on failed.
    Upstream,
    /// The tool cannot serve at present.
    Unavailable,
    /// The tool noticed that it was cancelled.
    Cancelled,
    /// A fault of the tool itself.
    Internal,
}

impl Fault {
    /// The stable text of the kind, as hosts show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Unauthenticated => "unauthenticated",
            Self::Conflict => "conflict",
            Self::RateLimited => "rate_limited",
            Self::Upstream => "upstream",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure a tool reports about itself: the answer to "what went wrong and what now?".
///
/// There is no conversion from every error type, because it would have to guess the [`Fault`], and the
/// fault decides what a model tries next.
/// Three ways keep `?` short and the fault visible:
/// - [`OrFail::or_fail`](crate::OrFail::or_fail) names the fault where the error happens;
/// - `impl From<MyError> for Failure` names it once for an error type of your own, and a tool may then
///   return `Result<_, MyError>`;
/// - [`std::io::Error`] converts, since its kind says which fault it is.
///
/// ```
/// use hotcell_tool::Failure;
///
/// let failure = Failure::not_found("no note is called `plan`").advice("call `list` to see which notes exist");
/// assert_eq!(failure.to_string(), "no note is called `plan`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub fault: Fault,
    /// Finer detail in the tool's own vocabulary, such as `quota_exceeded`.
    pub code: Option<String>,
    /// What went wrong, in a sentence a model can act on.
    pub message: String,
    /// What the caller could do next.
    pub advice: Option<String>,
    /// When a retry may succeed; sent in whole milliseconds.
    pub retry_after: Option<Duration>,
    /// Whether something outside of the tool may have changed before it failed.
    pub effect_possible: bool,
}

impl Failure {
    /// A failure of this kind.
    #[must_use]
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            code: None,
            message: message.into(),
            advice: None,
            retry_after: None,
            effect_possible: false,
        }
    }

    /// The arguments make no sense to the tool; say which one and why.
    #[must_use]
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(Fault::InvalidInput, message)
    }

    /// What was asked for does not exist.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Fault::NotFound, message)
    }

    /// The tool was refused something it needs.
    #[must_use]
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(Fault::Denied, message)
    }

    /// Credentials are missing or wrong.
    #[must_use]
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(Fault::Unauthenticated, message)
    }

    /// The state of the world does not allow it.
    #[must_use]
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Fault::Conflict, message)
    }

    /// Too many requests; add [`Failure::retry_after`] when the time is known.
    #[must_use]
    pub fn rate_limited(message: impl Into<String>) -> Self {
        Self::new(Fault::RateLimited, message)
    }

    /// A service the tool depends on failed.
    #[must_use]
    pub fn upstream(message: impl Into<String>) -> Self {
        Self::new(Fault::Upstream, message)
    }

    /// The tool cannot serve at present.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Fault::Unavailable, message)
    }

    /// The tool noticed that it was cancelled, see [`control::cancelled`](crate::control::cancelled).
    #[must_use]
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::new(Fault::Cancelled, message)
    }

    /// A fault of the tool itself.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Fault::Internal, message)
    }

    /// The same failure with finer detail in the tool's own vocabulary.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The same failure with what the caller could do next.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same failure with the time after which a retry may succeed.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// The same failure, saying that something outside of the tool may have changed.
    #[must_use]
    pub fn effect_possible(mut self) -> Self {
        self.effect_possible = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

/// The fault follows from the kind of the error; what has no fitting fault is [`Fault::Internal`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let fault = match error.kind() {
            Kind::NotFound => Fault::NotFound,
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Fault::Denied,
            Kind::AlreadyExists
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::DirectoryNotEmpty
            | Kind::ResourceBusy => Fault::Conflict,
            Kind::InvalidInput | Kind::InvalidFilename => Fault::InvalidInput,
            Kind::StorageFull
            | Kind::QuotaExceeded
            | Kind::FileTooLarge
            | Kind::TimedOut
            | Kind::WouldBlock
            | Kind::Interrupted => Fault::Unavailable,
            _ => Fault::Internal,
        };
        Self::new(fault, error.to_string())
    }
}

#[cfg(test)]
mod tests;

//! How a command ends: exit codes, and errors that say what to do.

use std::fmt;
use std::process::ExitCode;

use hotcell::{ComponentError, PolicyError};

/// What the process says to whoever started it; part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for was done, and its outcome is `ok`.
    Done,
    /// Any other outcome or status.
    Failed,
    /// The command line, a file it names or the policy is wrong; nothing was begun.
    Usage,
    /// The person gave up.
    Cancelled,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        // 3, a run that waits for input, comes with runs that can be suspended.
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Cancelled => 130,
        })
    }
}

/// An error for a person: what is wrong and where, and, on lines of their own, what to do.
#[derive(Debug)]
pub(crate) struct Complaint {
    pub(crate) exit: Exit,
    /// A stable word for machines.
    pub(crate) code: &'static str,
    message: String,
    pub(crate) help: Vec<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Complaint {
    /// The command line, or something it names, is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// What was asked for cannot be done.
    pub(crate) fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, code, message)
    }

    /// The person gave up.
    pub(crate) fn cancelled(message: impl Into<String>) -> Self {
        Self::new(Exit::Cancelled, "cancelled", message)
    }

    fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self { exit, code, message: message.into(), help: Vec::new(), source: None }
    }

    /// Adds what to do.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub(crate) fn because(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Complaint {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// A file that cannot be read or a grant that cannot be opened is wrong usage; a component that is no
/// tool is a failure.
impl From<ComponentError> for Complaint {
    fn from(error: ComponentError) -> Self {
        let exit = match error.code() {
            "unreadable" | "grant" | "policy_mismatch" => Exit::Usage,
            _ => Exit::Failed,
        };
        let code = error.code();
        let help = error.advice().into_iter().collect();
        let message = error.to_string();
        let source = cause_of(&error);
        Self { exit, code, message, help, source }
    }
}

impl From<PolicyError> for Complaint {
    fn from(error: PolicyError) -> Self {
        let message = error.to_string();
        let source = cause_of(&error);
        Self { source, ..Self::new(Exit::Usage, "policy", message) }
    }
}

/// The chain below an error as text, because an error can only be owned as a whole.
fn cause_of(error: &dyn std::error::Error) -> Option<Box<dyn std::error::Error + Send + Sync>> {
    let first = error.to_string();
    let chain = std::iter::successors(error.source(), |cause| cause.source()).map(ToString::to_string);
    let below = once_each(std::iter::once(first).chain(chain)).split_off(1);
    (!below.is_empty()).then(|| below.join(": ").into())
}

/// What a chain of errors says, each thing once: some errors repeat their cause in their own words.
pub(crate) fn causes<'a>(chain: impl Iterator<Item = &'a (dyn std::error::Error + 'static)>) -> Vec<String> {
    once_each(chain.map(ToString::to_string))
}

fn once_each(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for cause in texts {
        if !said.last().is_some_and(|last| last.contains(&cause)) {
            said.push(cause);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_repeats_of_its_cause_is_said_once() {
        #[derive(Debug)]
        struct Says(&'static str, Option<Box<Self>>);
        impl fmt::Display for Says {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0)
            }
        }
        impl std::error::Error for Says {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                self.1.as_deref().map(|source| source as _)
            }
        }
        let deepest = Some(Box::new(Says("disk full", None)));
        let error = Says("a schema: it is wrong", Some(Box::new(Says("it is wrong", deepest))));
        let chain =
            std::iter::successors(Some(&error as &(dyn std::error::Error + 'static)), |cause| cause.source());
        assert_eq!(causes(chain), ["a schema: it is wrong", "disk full"]);
    }

    #[test]
    fn a_component_that_cannot_be_read_is_wrong_usage_and_keeps_its_cause() {
        let error = hotcell::read_component(std::path::Path::new("/nowhere/x.wasm")).unwrap_err();
        let complaint = Complaint::from(error);
        assert_eq!(complaint.exit, Exit::Usage);
        assert_eq!(complaint.to_string(), "`/nowhere/x.wasm` cannot be read");
        assert!(std::error::Error::source(&complaint).unwrap().to_string().contains("No such file"));
    }
}

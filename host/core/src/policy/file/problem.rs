//! What can be wrong with a policy file, with its place.

use std::fmt;

use crate::text::{cap_chars, escape_control};

/// Most problems of one file that are kept; the rest is counted.
pub const MAX_PROBLEMS: usize = 100;

/// Most problems that are collected before the first [`MAX_PROBLEMS`] of the text are picked.
const MAX_COLLECTED: usize = 10_000;

/// Longest piece of the file that is quoted, in characters.
const MAX_QUOTE_CHARS: usize = 80;

/// One problem of a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key, such as `components.notes.permission`; empty when the TOML itself is wrong.
    pub path: String,
    /// What was expected there.
    pub expected: String,
    /// What was found instead.
    pub found: String,
    /// What to do.
    pub help: String,
}

impl Problem {
    /// A problem whose line and column are not known yet.
    pub(super) fn new(path: &str, expected: &str, found: String, help: &str) -> Self {
        Self { line: 1, column: 1, path: path.into(), expected: expected.into(), found, help: help.into() }
    }
}

/// Everything that is wrong with one policy file; nothing of it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors {
    name: String,
    problems: Vec<Problem>,
    left_out: usize,
}

impl PolicyErrors {
    /// What the file was called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The problems in the order of the text; never empty.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many more there are beyond [`MAX_PROBLEMS`].
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len() + self.left_out;
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "policy file `{}` is refused, it has {count} problem{plural}", self.name)?;
        for problem in &self.problems {
            let Problem { line, column, path, expected, found, help } = problem;
            write!(f, "\n{}:{line}:{column}: ", self.name)?;
            if !path.is_empty() {
                write!(f, "{path}: ")?;
            }
            write!(f, "expected {expected}, found {found}\n  help: {help}")?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyErrors {}

/// Problems by byte offset, while the file is being read.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<(usize, Problem)>,
    left_out: usize,
    syntax: bool,
}

impl Problems {
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether the TOML itself is wrong, so that what is missing may only be unreadable.
    pub(super) fn has_syntax(&self) -> bool {
        self.syntax
    }

    pub(super) fn push_syntax(&mut self, at: usize, problem: Problem) {
        self.syntax = true;
        self.push(at, problem);
    }

    pub(super) fn push(&mut self, at: usize, problem: Problem) {
        if self.found.len() < MAX_COLLECTED {
            self.found.push((at, problem));
        } else {
            self.left_out += 1;
        }
    }

    /// Sorts by place and turns offsets into lines and columns.
    pub(super) fn finish(mut self, text: &str, name: &str) -> PolicyErrors {
        self.found.sort_by_key(|(at, _)| *at);
        self.found.dedup();
        let left_out = self.left_out + self.found.len().saturating_sub(MAX_PROBLEMS);
        self.found.truncate(MAX_PROBLEMS);
        let problems = self.found.into_iter().map(|(at, mut problem)| {
            (problem.line, problem.column) = position(text, at);
            problem
        });
        PolicyErrors { name: quote(name), problems: problems.collect(), left_out }
    }
}

/// The line and column, both from 1, of a byte offset.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    (line, column)
}

/// A piece of the file, short and without characters that steer a terminal.
pub(super) fn quote(text: &str) -> String {
    let short = cap_chars(text, MAX_QUOTE_CHARS);
    let cut = if short.len() < text.len() { "..." } else { "" };
    format!("{}{cut}", escape_control(&short))
}

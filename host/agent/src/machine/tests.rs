//! The machine alone: scripts of outcomes in, transcripts out.

mod idempotence;
mod limits;
mod replay;
mod rules;
mod support;

//! What the end-to-end tests and the benches share: real components, a real sandbox, and one function that
//! checks that the host is well after a guest misbehaved.
#![expect(clippy::panic, reason = "a test fails by panicking")]

pub mod call;
pub mod command;
pub mod generated;
pub mod guest;
pub mod health;
pub mod sections;
pub mod services;
pub mod untouched;
pub mod wat_tool;

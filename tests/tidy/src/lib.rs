//! Checkers of the rules that hold for the repository as a whole.
//!
//! In comes the checkout: manifests, lock files, sources, documents.
//! Out comes a list of violations, each a line that says where it is and what to do.
//! The checkers read files and ask cargo; they build nothing, so this crate
//! depends on nothing heavy and its tests run in seconds.
//! `tests/repository.rs` applies each checker to this repository, and each
//! checker has tests that prove it finds what it is made for.
//!
//! Start reading at [`repository`], then [`arrows`] and [`one_door`].

pub mod arrows;
pub mod births;
pub mod commands;
pub mod frozen;
pub mod homes;
pub mod loading;
pub mod lock;
pub mod manifests;
pub mod one_door;
pub mod parity;
pub mod repository;
pub mod tokens;
pub mod tree;
pub mod unsafety;
pub mod words;

//! The words of Hotcell: plain data and the traits that other rooms implement.
//!
//! Nothing here performs I/O, reads a clock, an environment variable or
//! randomness; whoever builds the world passes such things in.
//! What crosses from one room to another is a type of this crate, so a call can
//! be recorded, replayed, or sent to another process.
//!
//! Start reading at [`tool`] (what the loop calls), then [`call`] (what goes in
//! and comes out of one call), then [`outcome`] (how a call can end).

pub mod approval;
pub mod artifact;
pub mod budget;
pub mod call;
pub mod canonical;
pub mod config;
pub mod content;
pub mod cost;
pub mod engine;
pub mod event;
pub mod grant;
pub mod ids;
pub mod limits;
pub mod loop_guard;
pub mod media;
pub mod message;
pub mod middleware;
pub mod model;
pub mod outcome;
pub mod policy;
pub mod replay;
pub mod results;
pub mod services;
pub mod text;
pub mod tool;
pub mod units;

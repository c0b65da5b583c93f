//! One tool per way to misbehave: what a host has to survive, in one component to try it on.
//!
//! Every tool works without arguments.

mod crash;
mod escape;
mod exhaust;
mod lie;

use crash::{exit, panic};
use escape::{read_env, read_outside};
use exhaust::{allocate, flood_stdout, recurse, sleep, spin};
use lie::{count_calls, echo, huge_result, invalid_json, invalid_utf8};

hotcell_tool::component!(
    spin,
    recurse,
    allocate,
    flood_stdout,
    panic,
    exit,
    huge_result,
    invalid_utf8,
    invalid_json,
    read_outside,
    read_env,
    sleep,
    count_calls,
    echo,
);

#[cfg(test)]
mod tests;

//! The walls that Linux offers, one function each.

use std::fs::File;
use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetStatus, Scope,
};
use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Signal, nice, set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::{limits, unsafe_calls};
use crate::protocol::Bounds;

/// How much the process steps back behind others. Calls come first; at 10 a compile still gets a tenth of a processor
/// that something else keeps busy, so that a load on a busy machine ends.
const STEP_BACK: i32 = 10;

/// What is not a wall: files made are private, and calls come before compiles.
pub(super) fn keep_out_of_the_way() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    match nice(STEP_BACK) {
        // Without it a compile is in the way of calls, and nothing else.
        Ok(_) | Err(_) => {}
    }
}

/// Closes what the parent left open for its children without meaning to.
pub(super) fn close_descriptors() -> Result<(), String> {
    unsafe_calls::close_all_but_standard().map_err(said)
}

/// Has the process killed when its parent ends; a parent that is killed cannot kill its workers.
///
/// A parent that ended before is noticed by [`crate::worker`], which looks whether anybody reads the answer.
pub(super) fn end_with_parent() -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(said)
}

pub(super) fn set_limits(bounds: &Bounds) -> Result<(), String> {
    limits::set(bounds)
}

pub(super) fn refuse_new_privileges() -> Result<(), String> {
    rustix::thread::set_no_new_privs(true).map_err(said)
}

pub(super) fn refuse_tracing() -> Result<(), String> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(said)
}

/// Gives up all capabilities. The user stays the same, also when it is root: another user would be one that other
/// programs run as too, and one that the parent could not kill where it has few capabilities itself.
pub(super) fn drop_capabilities() -> Result<(), String> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).map_err(said)?;
    let left = capabilities(None).map_err(said)?;
    if left == sets { Ok(()) } else { Err("some capabilities are left".into()) }
}

/// Refuses every right on files, TCP and, where the kernel knows how, abstract sockets and signals; allows nothing.
/// Gives the version in force.
pub(super) fn landlock() -> Result<u32, String> {
    // The newest version this crate knows; older kernels take the part they know.
    let newest = ABI::V10;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(newest))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(newest)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(newest)))
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self)
        .map_err(said)?;
    let abi = match status.landlock {
        LandlockStatus::NotEnabled => return Err("the kernel has it, and it is switched off".into()),
        LandlockStatus::NotImplemented => return Err("the kernel does not have it".into()),
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
    };
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("the kernel enforces none of it".into());
    }
    // What the kernel says is believed after it held once.
    match File::open("/") {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(abi),
        Ok(_) => Err("the kernel says that it stands, and a folder could be opened".into()),
        Err(error) => Err(format!("whether it stands cannot be seen: {error}")),
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

//! What the system counts, and stops or kills the process for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::protocol::Bounds;

/// Files the process may have open at once: its three standard streams and a few for the system.
const OPEN_FILES: u64 = 32;

/// Bytes of stack of the first thread; the threads that compile have 2 MiB each, which their address space pays for.
const STACK_BYTES: u64 = 8 << 20;

/// Sets the limits that no component can make the compiler exceed. They cannot be raised again.
///
/// There is none on processes: it would count all processes of the user, and so refuse threads to a compile because of
/// what else the user runs. The filter of system calls refuses processes, and the parent kills the whole group.
pub(super) fn set(bounds: &Bounds) -> Result<(), String> {
    let limits = [
        (Resource::Core, 0, 0),
        (Resource::Memlock, 0, 0),
        (Resource::Fsize, bounds.artifact_bytes, bounds.artifact_bytes),
        (Resource::Nofile, OPEN_FILES, OPEN_FILES),
        (Resource::Stack, STACK_BYTES, STACK_BYTES),
        // The first limit sends a signal that says what happened, the second kills.
        (Resource::Cpu, bounds.cpu_seconds, bounds.cpu_seconds.saturating_add(1)),
        (Resource::As, bounds.address_space_bytes, bounds.address_space_bytes),
    ];
    for (resource, current, maximum) in limits {
        // Whoever started this program may have set a lower one, which cannot be raised.
        let ceiling = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Rlimit { current: Some(current.min(ceiling)), maximum: Some(maximum.min(ceiling)) };
        setrlimit(resource, limit)
            .map_err(|error| format!("the limit {resource:?} cannot be set: {error}"))?;
    }
    Ok(())
}

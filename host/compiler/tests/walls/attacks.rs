//! The attacks, and how each must end.

use hotcell_compiler::Wall;

/// One attack.
#[derive(Debug)]
pub(crate) struct Case {
    /// What [`crate::attack`] knows it by.
    pub(crate) name: &'static str,
    /// How it must end.
    pub(crate) expected: Expected,
    /// The walls that hold it.
    pub(crate) needs: &'static [Wall],
    /// The version of Landlock from which on it holds this.
    pub(crate) landlock_abi: u32,
}

/// How an attack must end.
#[derive(Debug)]
pub(crate) enum Expected {
    /// The process is killed at the system call.
    Killed,
    /// The system call gives an error that denies it.
    Refused,
    /// A limit ends it, with these words.
    Stopped(&'static str),
}

const fn stands(name: &'static str, needs: &'static [Wall]) -> Case {
    Case { name, expected: Expected::Refused, needs, landlock_abi: 0 }
}

const fn killed(name: &'static str) -> Case {
    Case { name, expected: Expected::Killed, needs: &[Wall::SystemCalls], landlock_abi: 0 }
}

const fn landlock(name: &'static str, landlock_abi: u32) -> Case {
    Case { name, expected: Expected::Refused, needs: &[Wall::Landlock], landlock_abi }
}

const fn limit(name: &'static str, expected: Expected) -> Case {
    Case { name, expected, needs: &[], landlock_abi: 0 }
}

/// All attacks. Those named `unfiltered` run before the filter of system calls, so that they meet the other wall.
pub(crate) const CASES: &[Case] = &[
    stands("stands: closed descriptors", &[Wall::Descriptors]),
    stands("stands: end with the parent", &[Wall::ParentDeath]),
    stands("stands: resource limits", &[Wall::Limits]),
    stands("stands: no new privileges", &[Wall::NoNewPrivileges]),
    stands("stands: not traceable", &[Wall::NotDumpable]),
    stands("stands: no capabilities", &[Wall::NoCapabilities]),
    stands("stands: Landlock", &[Wall::Landlock]),
    stands("stands: seccomp", &[Wall::SystemCalls]),
    landlock("unfiltered: read a file", 1),
    landlock("unfiltered: list a folder", 1),
    landlock("unfiltered: make a file", 1),
    landlock("unfiltered: start a program", 1),
    landlock("unfiltered: listen on TCP", 4),
    landlock("unfiltered: connect over TCP", 4),
    landlock("unfiltered: signal the parent", 6),
    limit("unfiltered: use what the parent left open", Expected::Refused),
    limit("unfiltered: be looked into", Expected::Refused),
    limit("unfiltered: open many files", Expected::Refused),
    limit("unfiltered: raise a limit", Expected::Refused),
    limit("unfiltered: become somebody else", Expected::Refused),
    Case { name: "read a file", expected: Expected::Refused, needs: &[Wall::SystemCalls], landlock_abi: 0 },
    killed("make a file"),
    killed("listen on TCP"),
    killed("make a UDP socket"),
    killed("make a pair of unix sockets"),
    killed("start a program"),
    killed("become a program"),
    killed("make a socket in a thread"),
    killed("make memory executable"),
    killed("map executable memory"),
    killed("signal the parent"),
    killed("abort another process"),
    killed("fork"),
    killed("call ptrace"),
    killed("call process_vm_readv"),
    killed("call process_vm_writev"),
    killed("call connect"),
    killed("call execveat"),
    killed("call openat2"),
    killed("call open_by_handle_at"),
    killed("call io_uring_setup"),
    killed("call userfaultfd"),
    killed("call bpf"),
    killed("call mount"),
    killed("call keyctl"),
    killed("call unshare"),
    killed("call setns"),
    killed("call memfd_create"),
    killed("call pidfd_open"),
    killed("call perf_event_open"),
    killed("call ioctl"),
    killed("call dup"),
    killed("call prlimit64"),
    killed("call seccomp"),
    limit("ask for much memory", Expected::Refused),
    limit("compute without end", Expected::Stopped("1 s of processor time")),
    limit("write a large file", Expected::Stopped("killed by signal 25")),
    limit("recurse without end", Expected::Stopped("nested too deeply")),
];

/// Whether the running kernel offers this wall; asked of the kernel, not of the program that is tested.
pub(crate) fn offered(wall: Wall, landlock_abi: u32) -> bool {
    match wall {
        Wall::Landlock => crate::attack::landlock_version() >= landlock_abi.max(1),
        Wall::SystemCalls => std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists(),
        _ => true,
    }
}

//! Which system calls compiling needs; every other one kills the process.
//!
//! Two filters are set, of which the kernel obeys the stricter answer for each call. One allows what is listed and kills
//! for the rest. The other answers the few calls with an error that libraries try and can do without.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// One allowed call.
struct Allowed {
    number: i64,
    when: When,
    /// Who makes it, and what for.
    #[expect(dead_code, reason = "read by people who ask why a call is in the list")]
    reason: &'static str,
}

/// With which arguments a call is allowed.
#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    /// The memory must not become executable: compiling writes code and runs none.
    NotExecutable,
    /// It makes a thread of this process, not another process.
    Thread,
    /// It is for this process.
    Itself,
    /// It names a thread or a piece of memory.
    Naming,
    /// It opens a file for reading only.
    Reading,
}

const fn allow(number: i64, when: When, reason: &'static str) -> Allowed {
    Allowed { number, when, reason }
}

/// What compiling needs on every processor.
const ALLOWED: &[Allowed] = &[
    allow(libc::SYS_read, When::Always, "the component from standard input"),
    allow(libc::SYS_write, When::Always, "the artifact, the answer, the last words"),
    allow(libc::SYS_writev, When::Always, "the last words of a panic"),
    allow(libc::SYS_lseek, When::Always, "the artifact takes the place of the component in its file"),
    allow(libc::SYS_ftruncate, When::Always, "the same"),
    allow(libc::SYS_close, When::Always, "the file of the artifact"),
    allow(libc::SYS_mmap, When::NotExecutable, "memory and stacks of threads"),
    allow(libc::SYS_mprotect, When::NotExecutable, "guard pages of stacks; memory of the allocator"),
    allow(libc::SYS_munmap, When::Always, "memory and stacks of threads"),
    allow(libc::SYS_mremap, When::Always, "growing large buffers without copying"),
    allow(libc::SYS_madvise, When::Always, "giving memory back"),
    allow(libc::SYS_brk, When::Always, "memory of the allocator"),
    allow(libc::SYS_futex, When::Always, "locks, and waiting for threads"),
    allow(libc::SYS_clone, When::Thread, "threads"),
    // Its flags are behind a pointer, where no filter sees them. The other filter refuses it always, and the C library
    // goes on with `clone`; it stands here only because it must not kill.
    allow(libc::SYS_clone3, When::Always, "threads, tried first by the C library"),
    allow(libc::SYS_set_robust_list, When::Always, "the start of a thread"),
    allow(libc::SYS_rseq, When::Always, "the start of a thread"),
    allow(libc::SYS_sigaltstack, When::Always, "a stack on which running out of stack is reported"),
    allow(libc::SYS_rt_sigaction, When::Always, "the end by abort"),
    allow(libc::SYS_rt_sigprocmask, When::Always, "the start of a thread, the end by abort"),
    allow(libc::SYS_rt_sigreturn, When::Always, "running out of stack"),
    allow(libc::SYS_sched_yield, When::Always, "waiting for work of other threads"),
    allow(libc::SYS_sched_getaffinity, When::Always, "how many processors there are"),
    allow(libc::SYS_getrandom, When::Always, "seeds of hash maps"),
    allow(libc::SYS_clock_gettime, When::Always, "the time, where the kernel maps no clock"),
    allow(libc::SYS_gettid, When::Always, "the end by abort; names of threads in panics"),
    allow(libc::SYS_getpid, When::Always, "the end by abort"),
    allow(libc::SYS_tgkill, When::Itself, "the end by abort"),
    allow(libc::SYS_prctl, When::Naming, "names of threads"),
    // The other filter refuses it always; opening to write or make a file kills.
    allow(
        libc::SYS_openat,
        When::Reading,
        "the C library asks files for the number of processors and how memory is given",
    ),
    allow(libc::SYS_restart_syscall, When::Always, "waiting, after the process was stopped and goes on"),
    allow(libc::SYS_exit, When::Always, "the end of a thread"),
    allow(libc::SYS_exit_group, When::Always, "the end"),
];

/// Calls that are answered with an error instead of the end of the process.
const REFUSED: &[(i64, i32)] = &[(libc::SYS_clone3, libc::ENOSYS), (libc::SYS_openat, libc::EACCES)];

/// Sets the filters for this thread and those it makes from now on.
pub(super) fn allow_only_compiling() -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_unknown| format!("there is no filter for {}", std::env::consts::ARCH))?;
    for program in programs(arch).map_err(|error| format!("the filter cannot be made: {error}"))? {
        seccompiler::apply_filter(&program).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error.to_string(),
            other => other.to_string(),
        })?;
    }
    Ok(())
}

/// The filters, in the order in which they are set: the one that kills comes last, because it does not allow to set
/// another.
fn programs(arch: TargetArch) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut programs = Vec::new();
    for (number, error) in REFUSED {
        let rules = [(*number, Vec::new())].into();
        let refuse = SeccompAction::Errno(error.unsigned_abs());
        programs.push(SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()?);
    }
    let rules = ALLOWED.iter().map(|allowed| Ok((allowed.number, allowed.when.rules()?)));
    let rules = rules.collect::<Result<_, seccompiler::BackendError>>()?;
    programs
        .push(SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, arch)?.try_into()?);
    Ok(programs)
}

impl When {
    /// No rule at all means that the arguments do not matter.
    fn rules(self) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        let masked = |argument, mask: i32, value: i32| {
            let (mask, value) = (u64::from(mask.unsigned_abs()), u64::from(value.unsigned_abs()));
            condition(argument, SeccompCmpOp::MaskedEq(mask), value)
        };
        let any_of = match self {
            Self::Always => Vec::new(),
            Self::NotExecutable => vec![masked(2, libc::PROT_EXEC, 0)?],
            Self::Thread => vec![masked(0, libc::CLONE_THREAD, libc::CLONE_THREAD)?],
            Self::Itself => {
                vec![condition(0, SeccompCmpOp::Eq, u64::from(std::process::id()))?]
            }
            Self::Naming => {
                let naming = [libc::PR_SET_NAME, libc::PR_SET_VMA];
                naming
                    .into_iter()
                    .map(|option| condition(0, SeccompCmpOp::Eq, u64::from(option.unsigned_abs())))
                    .collect::<Result<_, _>>()?
            }
            Self::Reading => {
                vec![masked(2, libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC, libc::O_RDONLY)?]
            }
        };
        any_of.into_iter().map(|condition| SeccompRule::new(vec![condition])).collect()
    }
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_filters_can_be_made_for_both_processors() {
        for arch in [TargetArch::x86_64, TargetArch::aarch64] {
            let programs = programs(arch).unwrap();
            assert_eq!(programs.len(), REFUSED.len() + 1);
            assert!(programs.iter().all(|program| !program.is_empty()));
        }
    }

    #[test]
    fn each_call_is_listed_once_and_what_reaches_others_is_not() {
        let numbers: BTreeSet<i64> = ALLOWED.iter().map(|allowed| allowed.number).collect();
        assert_eq!(numbers.len(), ALLOWED.len());
        assert!(REFUSED.iter().all(|(number, _)| numbers.contains(number)));
        for dangerous in [
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_kill,
            libc::SYS_bpf,
            libc::SYS_mount,
            libc::SYS_keyctl,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_userfaultfd,
            libc::SYS_io_uring_setup,
            libc::SYS_open_by_handle_at,
            libc::SYS_openat2,
            libc::SYS_pidfd_getfd,
            libc::SYS_memfd_create,
            libc::SYS_seccomp,
            libc::SYS_ioctl,
            libc::SYS_prlimit64,
        ] {
            assert!(!numbers.contains(&dangerous), "{dangerous}");
        }
    }
}

//! What a process tries from inside of its walls.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, ErrorKind, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use hotcell_compiler::{Wall, Walls};

const REFUSED: &str = "refused";

fn attack() -> String {
    std::env::args().nth(1).unwrap_or_default()
}

/// Attacks that would never come as far as the wall they try, because the filter of system calls is in front of it.
pub(crate) fn before_the_filter(file: &mut File) -> Option<String> {
    let attack = attack();
    let result = match attack.strip_prefix("unfiltered: ")? {
        "read a file" => denied(fs::read("/proc/self/status")),
        "list a folder" => denied(fs::read_dir("/")),
        "make a file" => denied(File::create(std::env::temp_dir().join("hotcell-walls-attack"))),
        "start a program" => denied(Command::new("/bin/true").status()),
        "listen on TCP" => denied(TcpListener::bind("127.0.0.1:0")),
        "connect over TCP" => denied(TcpStream::connect("127.0.0.1:9")),
        "signal the parent" => denied(system_call(libc::SYS_kill, [parent(), 0, 0])),
        "use what the parent left open" => find_open(),
        "be looked into" => look_into(),
        "open many files" => open_many(file),
        "raise a limit" => {
            let limit = libc::rlimit { rlim_cur: 1 << 40, rlim_max: 1 << 40 };
            denied(set_limit(&limit))
        }
        "become somebody else" => denied(system_call(libc::SYS_setuid, [12_345, 0, 0])),
        _ => "an attack nobody knows".into(),
    };
    Some(result)
}

/// Attacks against all walls together.
pub(crate) fn behind_all_walls(walls: &Walls, file: &mut File) -> String {
    match attack().as_str() {
        "read a file" => denied(fs::read("/etc/hostname")),
        "make a file" => denied(File::create(std::env::temp_dir().join("hotcell-walls-attack"))),
        "listen on TCP" => denied(TcpListener::bind("127.0.0.1:0")),
        "make a UDP socket" => denied(UdpSocket::bind("127.0.0.1:0")),
        "make a pair of unix sockets" => denied(UnixStream::pair()),
        "start a program" => denied(Command::new("/bin/true").status()),
        "become a program" => denied(Err::<(), _>(Command::new("/bin/true").exec())),
        "make a socket in a thread" => {
            let thread = std::thread::spawn(|| denied(UdpSocket::bind("127.0.0.1:0")));
            thread.join().unwrap_or_else(|_panic| "a panic".into())
        }
        "make memory executable" => denied(system_call(libc::SYS_mprotect, [0, 0, exec()])),
        "map executable memory" => denied(system_call(libc::SYS_mmap, [0, 4096, exec()])),
        "signal the parent" => denied(system_call(libc::SYS_kill, [parent(), 0, 0])),
        "abort another process" => denied(system_call(libc::SYS_tgkill, [parent(), parent(), 0])),
        "fork" => denied(system_call(libc::SYS_clone, [i64::from(libc::SIGCHLD), 0, 0])),
        "ask for much memory" => match Vec::<u8>::new().try_reserve_exact(4 << 30) {
            Err(_) => REFUSED.into(),
            Ok(()) => "it was given".into(),
        },
        "compute without end" => loop {
            black_box(());
        },
        "write a large file" => denied(file.write_all(&vec![0; 8 << 20])),
        "recurse without end" => recurse(0).to_string(),
        other => match (other.strip_prefix("stands: "), other.strip_prefix("call ").and_then(number)) {
            (Some(wall), _) => stands(walls, wall),
            (None, Some(number)) => denied(system_call(number, [0, 0, 0])),
            (None, None) => "an attack nobody knows".into(),
        },
    }
}

/// Whether the worker says that a wall stands, and if not, why.
fn stands(walls: &Walls, name: &str) -> String {
    let stands = Wall::ALL.into_iter().any(|wall| wall.name() == name && walls.stands(wall));
    if stands { REFUSED.into() } else { walls.describe_missing() }
}

/// What became of something that must be denied.
fn denied<T>(result: io::Result<T>) -> String {
    match result {
        Ok(_) => "it was done".into(),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => REFUSED.into(),
        Err(error) => format!("it failed for another reason: {error}"),
    }
}

fn open_many(file: &File) -> String {
    let mut open = Vec::new();
    while open.len() < 1_000 {
        match file.try_clone() {
            Ok(another) => open.push(another),
            Err(_) => return REFUSED.into(),
        }
    }
    format!("{} were opened", open.len())
}

/// Looks for descriptors beyond the standard ones and the one of the component.
fn find_open() -> String {
    let is_open = |number: &i64| system_call(libc::SYS_fcntl, [*number, i64::from(libc::F_GETFD), 0]).is_ok();
    match (4..1_024).find(is_open) {
        Some(number) => format!("descriptor {number} is open"),
        None => REFUSED.into(),
    }
}

/// Asks what another process of the same user would be answered that wants to trace this one.
fn look_into() -> String {
    match system_call(libc::SYS_prctl, [i64::from(libc::PR_GET_DUMPABLE), 0, 0]) {
        Ok(0) => REFUSED.into(),
        other => format!("it can be: {other:?}"),
    }
}

#[expect(unconditional_recursion, reason = "it is the attack")]
fn recurse(depth: u64) -> u64 {
    let room = black_box([depth; 64]);
    recurse(depth + 1) + room.iter().sum::<u64>()
}

fn parent() -> i64 {
    i64::from(std::os::unix::process::parent_id())
}

fn exec() -> i64 {
    i64::from(libc::PROT_READ | libc::PROT_EXEC)
}

fn number(name: &str) -> Option<i64> {
    Some(match name {
        "ptrace" => libc::SYS_ptrace,
        "process_vm_readv" => libc::SYS_process_vm_readv,
        "process_vm_writev" => libc::SYS_process_vm_writev,
        "connect" => libc::SYS_connect,
        "execveat" => libc::SYS_execveat,
        "openat2" => libc::SYS_openat2,
        "open_by_handle_at" => libc::SYS_open_by_handle_at,
        "io_uring_setup" => libc::SYS_io_uring_setup,
        "userfaultfd" => libc::SYS_userfaultfd,
        "bpf" => libc::SYS_bpf,
        "mount" => libc::SYS_mount,
        "keyctl" => libc::SYS_keyctl,
        "unshare" => libc::SYS_unshare,
        "setns" => libc::SYS_setns,
        "memfd_create" => libc::SYS_memfd_create,
        "pidfd_open" => libc::SYS_pidfd_open,
        "perf_event_open" => libc::SYS_perf_event_open,
        "ioctl" => libc::SYS_ioctl,
        "dup" => libc::SYS_dup,
        "prlimit64" => libc::SYS_prlimit64,
        "seccomp" => libc::SYS_seccomp,
        _ => return None,
    })
}

/// The version of Landlock the kernel offers, 0 for none.
pub(crate) fn landlock_version() -> u32 {
    // The flag asks for the version instead of making a set of rules.
    let version = system_call(libc::SYS_landlock_create_ruleset, [0, 0, 1]).unwrap_or(0);
    u32::try_from(version).unwrap_or(0)
}

#[expect(unsafe_code, reason = "attacks are made with system calls that have no safe function")]
fn system_call(number: i64, [first, second, third]: [i64; 3]) -> io::Result<i64> {
    // SAFETY: every call made through here has null for each pointer, or reads no pointer; a new process or a mapping it
    // might make, were it not refused, ends with this process, which exists for this attack alone.
    let result = unsafe { libc::syscall(number, first, second, third, 0_i64, 0_i64, 0_i64) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[expect(unsafe_code, reason = "attacks are made with system calls that have no safe function")]
fn set_limit(limit: &libc::rlimit) -> io::Result<()> {
    // SAFETY: the structure lives as long as the call, which only reads it.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_AS, limit) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

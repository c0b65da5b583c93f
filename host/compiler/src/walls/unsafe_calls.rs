//! The system call for which no crate has a safe function.

use std::io;

/// Closes every descriptor but standard input, output and error.
#[expect(unsafe_code, reason = "closing descriptors by number is a promise that nobody owns them")]
pub(super) fn close_all_but_standard() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    const NO_FLAGS: libc::c_uint = 0;
    // SAFETY: this runs as the first thing of a process that has one thread and has opened nothing itself, so no
    // value in this program owns a descriptor from 3 on. The call touches no memory. Leaving them open would
    // hand files and sockets of the parent to the compiler, and closing them one by one makes the same promise.
    let result = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, NO_FLAGS) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

//! A child process that is gone, with everything it started, when this is dropped.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};
use std::time::{Duration, Instant};

use hotcell_core::text::{escape_control, tail_bytes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::cancel::Cancel;
use crate::compile::CompileLimits;
use crate::error::CompileError;
use crate::protocol::MAX_REPLY_BYTES;

/// Bytes of the process's standard error that are kept, the last ones.
const MAX_STDERR_BYTES: usize = 4 << 10;

/// How often the process is looked at when it neither writes nor closes its output.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A running process and its group.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Pid,
}

/// How a process ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) timed_out: bool,
    /// Whether it was stopped because nobody waits for it any more.
    pub(super) cancelled: bool,
    /// What it wrote to standard output.
    pub(super) reply: Vec<u8>,
    /// Whether it kept to the length of a reply; when not, it was stopped.
    pub(super) reply_fits: bool,
    stderr: Vec<u8>,
}

impl Process {
    /// Starts the command, which must make a process group of its own and pipe both outputs.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.spawn()?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group })
    }

    /// Waits until the process ends, says too much, the deadline passes or nobody waits any more; in each case it and its group are gone
    /// when this returns.
    pub(super) fn wait(mut self, deadline: Instant, cancel: &Cancel) -> Result<Ended, CompileError> {
        let failed = |error: io::Error| {
            CompileError::internal(format!("the compile process cannot be watched: {error}"))
        };
        let mut pipes = Pipes::take(&mut self.child).map_err(failed)?;
        let timed_out = loop {
            let now = Instant::now();
            if now >= deadline {
                break true;
            }
            if cancel.is_cancelled() {
                break false;
            }
            pipes.read(LOOK_EVERY.min(deadline - now)).map_err(failed)?;
            if !pipes.reply_fits || self.has_ended().map_err(failed)? {
                break false;
            }
        };
        self.kill();
        let status = self.child.wait().map_err(failed)?;
        // What was written just before the end; the pipes do not block.
        pipes.read(Duration::ZERO).map_err(failed)?;
        Ok(Ended {
            status,
            timed_out,
            cancelled: cancel.is_cancelled(),
            reply: pipes.reply,
            reply_fits: pipes.reply_fits,
            stderr: pipes.stderr,
        })
    }

    /// Whether the process has ended; it is not reaped yet, so that its number stays taken.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.group), options)?.is_some())
    }

    fn kill(&mut self) {
        // The group cannot be another one's: its leader is our child and not reaped yet. That nothing is
        // left to kill is the usual case and no error.
        match kill_process_group(self.group, Signal::KILL) {
            Ok(()) | Err(_) => {}
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After `wait` the child is reaped and its number may belong to somebody else.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            match self.child.wait() {
                // A child that cannot be waited for leaves nothing to do here.
                Ok(_) | Err(_) => {}
            }
        }
    }
}

/// The two outputs of the process, read without blocking and kept within bounds.
#[derive(Debug)]
struct Pipes {
    stdout: Option<ChildStdout>,
    stderr_pipe: Option<ChildStderr>,
    reply: Vec<u8>,
    reply_fits: bool,
    stderr: Vec<u8>,
}

impl Pipes {
    fn take(child: &mut Child) -> io::Result<Self> {
        let pipes = Self {
            stdout: child.stdout.take(),
            stderr_pipe: child.stderr.take(),
            reply: Vec::new(),
            reply_fits: true,
            stderr: Vec::new(),
        };
        if let Some(pipe) = &pipes.stdout {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        if let Some(pipe) = &pipes.stderr_pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(pipes)
    }

    /// Waits for output for at most this long, then takes what is there, at most one buffer of each.
    fn read(&mut self, wait: Duration) -> io::Result<()> {
        let mut fds = Vec::with_capacity(2);
        fds.extend(self.stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        fds.extend(self.stderr_pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let timeout = Timespec::try_from(wait).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        drop(fds);
        if read_some(&mut self.stdout, &mut self.reply)? == Pipe::Closed {
            self.stdout = None;
        }
        if self.reply.len() > MAX_REPLY_BYTES {
            self.reply.truncate(MAX_REPLY_BYTES);
            self.reply_fits = false;
        }
        if read_some(&mut self.stderr_pipe, &mut self.stderr)? == Pipe::Closed {
            self.stderr_pipe = None;
        }
        let surplus = self.stderr.len().saturating_sub(MAX_STDERR_BYTES);
        self.stderr.drain(..surplus);
        Ok(())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Pipe {
    Open,
    Closed,
}

fn read_some(pipe: &mut Option<impl Read>, into: &mut Vec<u8>) -> io::Result<Pipe> {
    let Some(pipe) = pipe else {
        return Ok(Pipe::Open);
    };
    let mut buffer = [0_u8; MAX_REPLY_BYTES + 1];
    match pipe.read(&mut buffer) {
        Ok(0) => Ok(Pipe::Closed),
        Ok(count) => {
            into.extend_from_slice(buffer.get(..count).unwrap_or_default());
            Ok(Pipe::Open)
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(Pipe::Open)
        }
        Err(error) => Err(error),
    }
}

impl Ended {
    /// Whether the process was killed because of a system call that its filter does not allow.
    pub(super) fn broke_out(&self) -> bool {
        self.status.signal() == Some(Signal::SYS.as_raw())
    }

    /// Which limit ended the process, when one did.
    pub(super) fn limit(&self, limits: &CompileLimits) -> Option<String> {
        let signal = self.status.signal().filter(|_| self.reply_fits)?;
        let words = self.last_words();
        let memory = limits.address_space_bytes;
        Some(if signal == Signal::XCPU.as_raw() {
            format!("it used {} s of processor time", limits.cpu_time.as_secs().max(1))
        } else if words.contains("memory allocation of") {
            format!("it asked for more than {memory} bytes of address space")
        } else if words.contains("overflowed its stack") {
            "the component is nested too deeply: the compiler ran out of stack".to_owned()
        } else {
            format!(
                "its process was killed by signal {signal}, perhaps because memory ran out{}",
                said(&words)
            )
        })
    }

    /// What happened and the last words of the process.
    pub(super) fn describe(&self, what: &str) -> String {
        format!("the compile process {what} ({}){}", self.status, said(&self.last_words()))
    }

    fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        escape_control(tail_bytes(text.trim(), 400))
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; it last said: {words}") }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_process_is_killed_and_reaped_when_nobody_waits_for_it_any_more() {
        let mut command = Command::new("/bin/sleep");
        command.arg("1000").process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = Process::start(&mut command).unwrap();
        let path = format!("/proc/{}", process.child.id());
        assert!(std::path::Path::new(&path).exists());
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _process = process;
            std::panic::resume_unwind(Box::new("a panic while it runs"));
        }));
        assert!(unwound.is_err());
        assert!(!std::path::Path::new(&path).exists(), "neither running nor waiting to be reaped");
    }
}

//! Runs one compile process and believes only what can be checked.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use hotcell_core::ids::Digest;
use hotcell_core::policy::Isolation;
use hotcell_core::text::steers;
use wasmtime::{Engine, Precompiled};

use super::CompileLimits;
use crate::cancel::Cancel;
use crate::error::{CompileError, LoadError, quote};
use crate::protocol::{Answer, Bounds, Order, Reply};
use crate::walls::Walls;
use process::{Ended, Process};

mod process;

/// One compile process to be.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    pub(super) program: &'a Path,
    pub(super) args: &'a [OsString],
    pub(super) scratch: &'a Path,
    pub(super) limits: &'a CompileLimits,
    pub(super) isolation: Isolation,
    /// How many threads it may use; each costs address space.
    pub(super) threads: usize,
    pub(super) engine: &'a str,
}

/// How a compile process ended.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The artifact, or why there is none.
    pub(super) code: Result<Vec<u8>, CompileError>,
    /// The walls it raised, if it came so far.
    pub(super) walls: Option<Walls>,
    /// Whether the process was stopped or ended without an answer: what a component can be to blame for.
    pub(super) crashed: bool,
}

impl Worker<'_> {
    /// Starts the process, waits for it within the limit, and takes the artifact out of its file.
    pub(super) fn compile(&self, component: &[u8], cancel: &Cancel) -> Result<Outcome, CompileError> {
        let deadline = Instant::now() + self.limits.wall_time;
        let file = self.file(component)?;
        let process = self.start(&file)?;
        let ended = process.wait(deadline, cancel)?;
        Ok(match self.judge(&ended) {
            Ok(answer) => {
                let walls = answer.walls.clone();
                Outcome { code: self.accept(answer, file), walls, crashed: false }
            }
            Err(error) => {
                let crashed = error != CompileError::Cancelled;
                Outcome { code: Err(error), walls: None, crashed }
            }
        })
    }

    /// The file that passes the component to the process and the artifact back. It has no name, so that nothing is left
    /// of it when both processes are gone, however they ended.
    fn file(&self, component: &[u8]) -> Result<File, CompileError> {
        let make = || -> io::Result<File> {
            let mut file = tempfile::tempfile_in(self.scratch)?;
            file.write_all(component)?;
            file.seek(SeekFrom::Start(0))?;
            Ok(file)
        };
        make().map_err(|error| self.scratch_error("write the component into a file in", &error))
    }

    /// Starts the process.
    ///
    /// Nothing here may run code between the birth of the process and the start of its program, such as a change of
    /// user or a hook: then the standard library lets the system start the program (`posix_spawn`), which on Linux
    /// borrows the memory of this process for that moment. Otherwise it forks, which copies the tables of
    /// all mappings, and this process may hold a pool of memories of hundreds of gibibytes.
    fn start(&self, file: &File) -> Result<Process, CompileError> {
        if !self.program.is_absolute() {
            let program = quote(&self.program.to_string_lossy());
            return Err(CompileError::internal(format!(
                "the compile program `{program}` needs an absolute path"
            )));
        }
        let input = file.try_clone().map_err(|error| self.scratch_error("use the file in", &error))?;
        let order = Order { isolation: self.isolation, bounds: Bounds::from(self.limits) };
        let order = order
            .to_arguments()
            .map_err(|error| CompileError::internal(format!("the order cannot be written: {error}")))?;
        let mut command = Command::new(self.program);
        command
            .args(self.args)
            .args(order)
            .env_clear()
            .env("RAYON_NUM_THREADS", self.threads.to_string())
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(input))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Process::start(&mut command).map_err(|error| {
            let program = quote(&self.program.to_string_lossy());
            CompileError::internal(format!("the compile program `{program}` does not start: {error}"))
        })
    }

    /// What the end of the process means.
    fn judge(&self, ended: &Ended) -> Result<Answer, CompileError> {
        if ended.cancelled {
            return Err(CompileError::Cancelled);
        }
        if ended.timed_out {
            return Err(CompileError::Timeout { limit: self.limits.wall_time });
        }
        if ended.broke_out() {
            return Err(CompileError::internal(ended.describe(
                "made a system call that compiling does not need and was killed for it; the kernel's log may name the call",
            )));
        }
        if let Some(reason) = ended.limit(self.limits) {
            return Err(CompileError::Limit { reason });
        }
        let Some(code) = ended.status.code().filter(|_| ended.reply_fits) else {
            return Err(CompileError::internal(ended.describe("answered more than it may")));
        };
        let answer = serde_json::from_slice::<Answer>(&ended.reply);
        match (code, answer) {
            (0, Ok(answer)) if !steers_reader(&answer) => Ok(answer),
            (0, _) => {
                Err(CompileError::internal(ended.describe("answered with something that is not an answer")))
            }
            (_, _) => Err(CompileError::internal(ended.describe("ended without an answer"))),
        }
    }

    fn accept(&self, answer: Answer, file: File) -> Result<Vec<u8>, CompileError> {
        let Answer { walls, reply } = answer;
        let walls = walls.unwrap_or_default();
        if reply == Reply::Unwalled || (self.isolation == Isolation::Required && !walls.complete()) {
            return Err(CompileError::isolation(&walls.describe_missing()));
        }
        let (bytes, digest, engine) = match reply {
            Reply::Done { bytes, digest, engine } => (bytes, digest, engine),
            Reply::Refused { reason } => return Err(reason.into()),
            Reply::Limited { reason } => return Err(CompileError::Limit { reason }),
            Reply::Failed { reason } => return Err(CompileError::internal(reason)),
            Reply::Unwalled => return Err(CompileError::isolation(&walls.describe_missing())),
        };
        if engine != self.engine {
            return Err(CompileError::internal(format!(
                "the compile program is another version: it compiles for `{}`, this program runs `{}`",
                quote(&engine),
                self.engine
            )));
        }
        let code = read_artifact(file, self.limits.artifact_bytes)
            .map_err(|error| self.scratch_error("read the artifact back from", &error))?;
        if code.len() as u64 != bytes || Digest::of(&code) != digest {
            return Err(CompileError::internal("the artifact in the file is not the one that was reported"));
        }
        if !matches!(Engine::detect_precompiled(&code), Some(Precompiled::Component)) {
            return Err(CompileError::internal(
                "the compile program wrote something that is not a compiled component",
            ));
        }
        Ok(code)
    }

    fn scratch_error(&self, action: &str, error: &io::Error) -> CompileError {
        let scratch = quote(&self.scratch.to_string_lossy());
        CompileError::internal(format!("cannot {action} `{scratch}`: {error}"))
    }
}

/// Reads through the handle that was opened before the process started, so that no name is looked up.
fn read_artifact(mut file: File, limit: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut code = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut code)?;
    if code.len() as u64 > limit {
        return Err(io::Error::other(format!("it has more than {limit} bytes")));
    }
    Ok(code)
}

/// Whether the texts of an answer could steer a terminal; ours are escaped where they are made.
fn steers_reader(answer: &Answer) -> bool {
    let of_reply = match &answer.reply {
        Reply::Done { engine, .. } => engine.clone(),
        Reply::Refused { reason: LoadError::UnsupportedImport { names } } => names.concat(),
        Reply::Refused { reason } => reason.to_string(),
        Reply::Failed { reason } | Reply::Limited { reason } => reason.clone(),
        Reply::Unwalled => String::new(),
    };
    let walls = answer.walls.iter().flat_map(|walls| &walls.missing).map(|missing| missing.reason.as_str());
    walls.chain([of_reply.as_str()]).any(|text| text.chars().any(steers))
}

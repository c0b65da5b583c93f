//! Runs one compile process and believes only what can be checked.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use hotcell_core::ids::Digest;
use hotcell_core::text::steers;
use tempfile::TempDir;
use wasmtime::{Engine, Precompiled};

use super::CompileLimits;
use crate::cancel::Cancel;
use crate::error::{CompileError, LoadError, quote};
use crate::protocol::{Bounds, Order, Reply};
use process::{Ended, Process};

mod process;

/// How many threads one compile may use; each costs address space.
const MAX_THREADS: usize = 4;

/// One compile process to be.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    pub(super) program: &'a Path,
    pub(super) args: &'a [OsString],
    pub(super) scratch: &'a Path,
    pub(super) limits: &'a CompileLimits,
    pub(super) engine: &'a str,
}

impl Worker<'_> {
    /// Starts the process, waits for it within the limit, and takes the artifact out of its file.
    pub(super) fn compile(&self, component: &[u8], cancel: &Cancel) -> Result<Vec<u8>, CompileError> {
        let deadline = Instant::now() + self.limits.wall_time;
        let folder = self.folder()?;
        let input = self.input(&folder, component)?;
        let artifact_path = folder.path().join("artifact");
        let artifact = private_file(&artifact_path)
            .map_err(|error| self.scratch_error("create the file for the artifact in", &error))?;
        let process = self.start(&folder, input, artifact_path)?;
        let ended = process.wait(deadline, cancel)?;
        let reply = self.judge(&ended)?;
        self.accept(reply, artifact)
    }

    fn folder(&self) -> Result<TempDir, CompileError> {
        tempfile::Builder::new()
            .prefix("hotcell-compile-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(self.scratch)
            .map_err(|error| self.scratch_error("create a folder in", &error))
    }

    fn input(&self, folder: &TempDir, component: &[u8]) -> Result<File, CompileError> {
        let write = || -> io::Result<File> {
            let mut file = private_file(&folder.path().join("component.wasm"))?;
            file.write_all(component)?;
            file.seek(SeekFrom::Start(0))?;
            Ok(file)
        };
        write().map_err(|error| self.scratch_error("write the component into", &error))
    }

    fn start(&self, folder: &TempDir, input: File, artifact: PathBuf) -> Result<Process, CompileError> {
        if !self.program.is_absolute() {
            let program = quote(&self.program.to_string_lossy());
            return Err(CompileError::internal(format!(
                "the compile program `{program}` needs an absolute path"
            )));
        }
        let order = Order { artifact, bounds: Bounds::from(self.limits) };
        let order = order
            .to_arguments()
            .map_err(|error| CompileError::internal(format!("the order cannot be written: {error}")))?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let mut command = Command::new(self.program);
        command
            .args(self.args)
            .args(order)
            .env_clear()
            .env("RAYON_NUM_THREADS", threads.to_string())
            .current_dir(folder.path())
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
    fn judge(&self, ended: &Ended) -> Result<Reply, CompileError> {
        if ended.cancelled {
            return Err(CompileError::Cancelled);
        }
        if ended.timed_out {
            return Err(CompileError::Timeout { limit: self.limits.wall_time });
        }
        if let Some(reason) = ended.limit(self.limits) {
            return Err(CompileError::Limit { reason });
        }
        let Some(code) = ended.status.code().filter(|_| ended.reply_fits) else {
            return Err(CompileError::internal(ended.describe("answered more than it may")));
        };
        let reply = serde_json::from_slice::<Reply>(&ended.reply);
        match (code, reply) {
            (0, Ok(reply)) if !steers_reader(&reply) => Ok(reply),
            (0, _) => {
                Err(CompileError::internal(ended.describe("answered with something that is not an answer")))
            }
            (_, _) => Err(CompileError::internal(ended.describe("ended without an answer"))),
        }
    }

    fn accept(&self, reply: Reply, artifact: File) -> Result<Vec<u8>, CompileError> {
        let (bytes, digest, engine) = match reply {
            Reply::Done { bytes, digest, engine } => (bytes, digest, engine),
            Reply::Refused { reason } => return Err(reason.into()),
            Reply::Limited { reason } => return Err(CompileError::Limit { reason }),
            Reply::Failed { reason } => return Err(CompileError::internal(reason)),
        };
        if engine != self.engine {
            return Err(CompileError::internal(format!(
                "the compile program is another version: it compiles for `{}`, this program runs `{}`",
                quote(&engine),
                self.engine
            )));
        }
        let code = read_artifact(artifact, self.limits.artifact_bytes)
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

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Reads through the handle that was opened before the process started, so that nothing put in the
/// file's place is read.
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
fn steers_reader(reply: &Reply) -> bool {
    let text = match reply {
        Reply::Done { engine, .. } => engine.clone(),
        Reply::Refused { reason: LoadError::UnsupportedImport { names } } => names.concat(),
        Reply::Refused { reason } => reason.to_string(),
        Reply::Failed { reason } | Reply::Limited { reason } => reason.clone(),
    };
    text.chars().any(steers)
}

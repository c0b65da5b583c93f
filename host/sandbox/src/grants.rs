//! Grants that were opened once, so that what a path names cannot change between load and call.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use hotcell_core::grant::{Access, Grants};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::error::SandboxError;

/// Directories that are never granted: through them a guest would see processes, devices and memory of the host.
const REFUSED: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What a component may reach, opened.
#[derive(Debug)]
pub(crate) struct OpenGrants {
    directories: Vec<Directory>,
    env: Vec<(String, String)>,
}

#[derive(Debug)]
struct Directory {
    /// Keeps the directory itself, whatever happens to its name.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "keeps the directory from being removed")
    )]
    open: Dir,
    path: PathBuf,
    guest: String,
    permissions: FsPerms,
}

impl OpenGrants {
    /// Opens every granted directory.
    pub(crate) fn open(grants: &Grants) -> Result<Self, SandboxError> {
        let directories = grants
            .files
            .iter()
            .map(|grant| {
                let permissions = match grant.access {
                    Access::ReadOnly => FsPerms::ReadOnly,
                    Access::ReadWrite => FsPerms::ReadWrite,
                };
                let (open, path) = open(&grant.host)?;
                Ok(Directory { open, path, guest: grant.guest.clone(), permissions })
            })
            .collect::<Result<_, SandboxError>>()?;
        let env = grants.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Self { directories, env })
    }

    /// Whether there is a directory among them.
    pub(crate) fn has_directories(&self) -> bool {
        !self.directories.is_empty()
    }

    /// Gives the environment to a guest.
    pub(crate) fn add_env_to(&self, wasi: &mut WasiCtxBuilder) {
        wasi.envs(&self.env);
    }

    /// Gives everything to a guest.
    pub(crate) fn add_to(&self, wasi: &mut WasiCtxBuilder) -> wasmtime::Result<()> {
        self.add_env_to(wasi);
        for directory in &self.directories {
            wasi.preopened_dir(directory.reopen(), &directory.guest, directory.permissions)?;
        }
        Ok(())
    }
}

impl Directory {
    /// A path that names the opened directory even if its name now belongs to another.
    #[cfg(target_os = "linux")]
    fn reopen(&self) -> PathBuf {
        use std::os::fd::AsRawFd as _;
        debug_assert!(self.path.is_absolute(), "canonicalised when it was opened");
        PathBuf::from(format!("/proc/self/fd/{}", self.open.as_raw_fd()))
    }

    #[cfg(not(target_os = "linux"))]
    fn reopen(&self) -> PathBuf {
        self.path.clone()
    }
}

fn open(path: &Path) -> Result<(Dir, PathBuf), SandboxError> {
    let refuse = |reason: String| SandboxError::Grant { path: path.to_path_buf(), reason };
    let real =
        path.canonicalize().map_err(|error| refuse(format!("{error}; grant an existing directory")))?;
    if !real.is_dir() {
        return Err(refuse("it is not a directory; grant the directory that holds it".to_owned()));
    }
    if real == Path::new("/") || REFUSED.iter().any(|refused| real.starts_with(refused)) {
        return Err(refuse(format!(
            "`{}` shows the whole host; grant a directory of its own",
            real.display()
        )));
    }
    let open = Dir::open_ambient_dir(&real, cap_std::ambient_authority())
        .map_err(|error| refuse(error.to_string()))?;
    // Opening needs no permission to read; without it the guest would see a directory that is not there.
    open.entries().map_err(|error| refuse(format!("it cannot be listed: {error}")))?;
    Ok((open, real))
}

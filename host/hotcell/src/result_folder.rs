//! Results that were too large for a model, on disk: a folder for each agent, which nobody else can enter.
//!
//! Everything is opened relative to an open folder and nothing through a link, so what is prepared at these paths
//! beforehand changes nothing. Names are random and say nothing about what is kept.

mod clean;
mod private;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use hotcell_core::results::{ResultHandle, ResultStore, ResultStoreError};
use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

pub use self::clean::{Cleaned, Removal};
use self::private::{make_folder, open_root, read_file, write_file};
use crate::environment::random_hex;

/// How long and how much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultFolderLimits {
    /// What was last written longer ago than this goes.
    pub max_age: Duration,
    /// Bytes of everything together; the oldest goes first.
    pub max_bytes: u64,
}

impl Default for ResultFolderLimits {
    /// A week and 1 GiB.
    fn default() -> Self {
        Self { max_age: Duration::from_secs(7 * 24 * 3_600), max_bytes: 1 << 30 }
    }
}

/// Says why the folder for results cannot be used.
#[derive(Debug, Error)]
#[error("the folder for results `{}` cannot be used", path.display())]
pub struct ResultFolderError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// The folder that holds the results of all agents of this user.
#[derive(Debug, Clone)]
pub struct ResultFolder {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    limits: ResultFolderLimits,
}

impl ResultFolder {
    /// The folder at this path. Nothing is made or read before the first result is kept.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, limits: ResultFolderLimits) -> Self {
        Self { inner: Arc::new(Inner { path: path.into(), limits }) }
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// A place for the results of one agent; its folder is made when the first one comes.
    #[must_use]
    pub fn store(&self) -> FileResults {
        FileResults { root: Arc::clone(&self.inner), folder: Arc::default() }
    }

    /// Removes, or only counts, the results that were last written longer ago than `older_than`.
    ///
    /// What an agent that is alive uses stays, whatever its age.
    ///
    /// # Errors
    /// The folder is not this user's alone, or cannot be read. That there is none is no error.
    pub fn clean(&self, older_than: Duration, removal: Removal) -> Result<Cleaned, ResultFolderError> {
        clean::clean(&self.inner.path, older_than, removal).map_err(|source| self.inner.error(source))
    }
}

impl Inner {
    fn error(&self, source: io::Error) -> ResultFolderError {
        ResultFolderError { path: self.path.clone(), source }
    }

    /// Makes a folder for one agent, and room for it. It is locked as long as it is open, so that it is not cleaned.
    fn begin(&self) -> io::Result<OwnedFd> {
        let root = open_root(&self.path)?;
        // Old results that cannot be removed do not keep new ones away.
        clean::make_room(&root, self.limits).unwrap_or_default();
        let folder = make_folder(&root, &format!("run-{}", random_hex()?))?;
        flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
        Ok(folder)
    }
}

/// Keeps the results of one agent in files of a folder of its own.
#[derive(Debug, Clone)]
pub struct FileResults {
    root: Arc<Inner>,
    folder: Arc<Mutex<Option<Arc<OwnedFd>>>>,
}

impl FileResults {
    /// The agent's folder, when something was kept in it.
    fn folder(&self) -> Option<Arc<OwnedFd>> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put_now(&self, text: &str) -> io::Result<ResultHandle> {
        let folder = {
            let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
            match folder.as_ref() {
                Some(folder) => Arc::clone(folder),
                None => Arc::clone(folder.insert(Arc::new(self.root.begin()?))),
            }
        };
        let name = random_hex()?;
        write_file(&folder, &name, text.as_bytes())?;
        ResultHandle::parse(name).map_err(io::Error::other)
    }

    fn read_now(&self, handle: &ResultHandle) -> io::Result<Option<Arc<str>>> {
        let Some(folder) = self.folder() else { return Ok(None) };
        let name = handle.as_str();
        if !is_hex(name) {
            return Ok(None);
        }
        let Some(bytes) = read_file(&folder, name)? else { return Ok(None) };
        let text =
            String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Some(text.into()))
    }
}

impl ResultStore for FileResults {
    fn put(&self, text: Arc<str>) -> BoxFuture<'_, Result<ResultHandle, ResultStoreError>> {
        let own = self.clone();
        off_the_runtime(move || own.put_now(&text))
    }

    fn read(&self, handle: ResultHandle) -> BoxFuture<'_, Result<Option<Arc<str>>, ResultStoreError>> {
        let own = self.clone();
        off_the_runtime(move || own.read_now(&handle))
    }
}

fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> BoxFuture<'static, Result<T, ResultStoreError>> {
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(io::Error::other).flatten().map_err(|error| ResultStoreError(error.to_string()))
    })
}

/// Whether the text is a name that was given out here; nothing else is ever a name of a file.
fn is_hex(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;

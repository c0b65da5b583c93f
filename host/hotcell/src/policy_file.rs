//! Reading a policy from the file an operator names.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use hotcell_core::policy::Policy;
use hotcell_core::policy::file::{MAX_POLICY_BYTES, Places, PolicyErrors, PolicyFile};
use hotcell_core::text::escape_control;
use thiserror::Error;

use crate::regular_file::open_regular_file;

/// Says why a policy is not in force.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("policy file `{}` cannot be read", escape_control(&path.to_string_lossy()))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is refused; all of its problems are listed.
    #[error(transparent)]
    Refused(#[from] PolicyErrors),
}

/// Reads a policy file; relative paths inside of it start at its folder. Blocks.
///
/// # Errors
/// The file cannot be read, or it has problems, all of which are listed.
pub fn load_policy(path: &Path) -> Result<Policy, PolicyError> {
    Ok(load_policy_with_places(path)?.0)
}

/// Reads a policy file as [`load_policy`] does, and notes where its keys stand. Blocks.
///
/// # Errors
/// Those of [`load_policy`].
pub fn load_policy_with_places(path: &Path) -> Result<(Policy, Places), PolicyError> {
    let text = read(path).map_err(|source| PolicyError::Read { path: path.to_path_buf(), source })?;
    let policy = PolicyFile::parse(&text, &path.to_string_lossy())?;
    // The folder of a bare file name is the empty path, under which relative paths stay as they are.
    Ok((policy.resolved_at(path.parent().unwrap_or(Path::new(""))), PolicyFile::places(&text)))
}

fn read(path: &Path) -> io::Result<String> {
    let file = open_regular_file(path)?;
    // One byte more than is allowed, so that the parser sees a file that is too long and says so.
    let limit = u64::try_from(MAX_POLICY_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_POLICY_BYTES {
        // The cut may have split a character; what is lost lies beyond the limit.
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 text, from byte {at} on"))
    })
}

/// The policy file the environment names in `HOTCELL_POLICY`; none when the variable is absent or empty.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the facade is where the environment is read")]
pub fn policy_from_environment() -> Option<PathBuf> {
    std::env::var_os("HOTCELL_POLICY").filter(|path| !path.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_start_at_the_folder_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.toml");
        std::fs::write(&path, "version = 1\n[components.a]\nsource = \"a.wasm\"\n").unwrap();
        let policy = load_policy(&path).unwrap();
        assert_eq!(policy.components["a"].source.as_deref(), Some(folder.path().join("a.wasm").as_path()));
    }

    #[test]
    fn what_is_no_readable_text_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let text = |path: &Path| {
            let error = load_policy(path).unwrap_err();
            format!("{error}: {}", std::error::Error::source(&error).unwrap())
        };
        assert!(text(folder.path()).contains("is a directory"));
        assert!(text(&folder.path().join("missing.toml")).contains("missing.toml"));
        let binary = folder.path().join("b.toml");
        std::fs::write(&binary, b"version = 1 \xff").unwrap();
        assert!(text(&binary).contains("from byte 12 on"));
    }
}

//! What an operator gives to a component: nothing, unless it is written down.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;

use crate::canonical;
use crate::ids::Digest;

/// Everything a component may reach beyond its own memory, clocks and randomness.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grants {
    /// Directories of the host that the guest sees.
    pub files: Vec<FileGrant>,
    /// Environment variables of the guest; the host's own are never passed on.
    pub env: BTreeMap<String, String>,
}

impl Grants {
    /// Whether the guest can reach something outside of the call: such a tool asks before it runs.
    #[must_use]
    pub fn reaches_outside(&self) -> bool {
        !self.files.is_empty()
    }

    /// The digest approvals bind on: SHA-256 over the canonical JSON of everything that is granted.
    ///
    /// The order in which directories were written down does not count. A directory counts by its path
    /// as it was given, whatever stands there.
    ///
    /// # Panics
    /// Never: texts have a canonical form.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by(|a, b| a.guest.cmp(&b.guest));
        // A path need not be text, and its digest is.
        let host = |path: &PathBuf| Digest::of(path.as_os_str().as_encoded_bytes()).to_hex();
        let files: Vec<_> = files
            .into_iter()
            .map(|file| json!({"host": host(&file.host), "guest": file.guest, "access": file.access}))
            .collect();
        canonical::hash(&json!({"files": files, "env": self.env})).expect("texts have a canonical form")
    }

    /// These grants with others on top: one for a place that is granted already takes that one's place.
    #[must_use]
    pub fn overlaid(mut self, mut on_top: Self) -> Self {
        self.files.retain(|known| !on_top.files.iter().any(|new| new.guest == known.guest));
        self.files.append(&mut on_top.files);
        self.env.append(&mut on_top.env);
        self
    }

    /// Adds one grant read by [`parse_grant`].
    ///
    /// # Errors
    /// A second grant for the same place.
    pub fn add(&mut self, grant: Grant) -> Result<(), GrantError> {
        match grant {
            Grant::Files(files) => {
                if self.files.iter().any(|known| known.guest == files.guest) {
                    return Err(GrantError::Twice { what: "directory", name: files.guest });
                }
                self.files.push(files);
            }
            Grant::Env { name, value } => {
                if self.env.contains_key(&name) {
                    return Err(GrantError::Twice { what: "environment variable", name });
                }
                self.env.insert(name, value);
            }
        }
        Ok(())
    }
}

/// One directory of the host that the guest sees under another name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileGrant {
    /// The directory on the host.
    pub host: PathBuf,
    /// The absolute path under which the guest sees it.
    pub guest: String,
    /// What the guest may do there.
    pub access: Access,
}

/// What a guest may do with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Nothing can be changed.
    ReadOnly,
    /// Files can be created, changed and removed.
    ReadWrite,
}

/// One grant as it is written on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// A directory.
    Files(FileGrant),
    /// An environment variable of the guest.
    Env {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
}

/// Says why a text is not a grant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The kind before the `=` is not known.
    #[error("grant `{text}` is of no known kind; expected `files=HOST:GUEST[:ro|rw]` or `env=NAME=VALUE`")]
    Kind {
        /// What was written.
        text: String,
    },
    /// The part after the `=` is wrong.
    #[error("grant `{text}`: {reason}")]
    Form {
        /// What was written.
        text: String,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The same place is granted twice.
    #[error("{what} `{name}` is granted twice")]
    Twice {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

/// Reads `files=HOST:GUEST[:ro|rw]` (read-only unless `rw` is written) or `env=NAME=VALUE`.
///
/// # Errors
/// [`GrantError`] says what was expected instead.
pub fn parse_grant(text: &str) -> Result<Grant, GrantError> {
    let form = |reason: String| GrantError::Form { text: crate::text::escape_control(text), reason };
    match text.split_once('=') {
        Some(("files", rest)) => parse_files(rest).map(Grant::Files).map_err(form),
        Some(("env", rest)) => {
            let Some((name, value)) = rest.split_once('=') else {
                return Err(form("expected `env=NAME=VALUE`; the host's own value is never taken".into()));
            };
            check_env(name, value).map_err(form)?;
            Ok(Grant::Env { name: name.into(), value: value.into() })
        }
        Some((kind @ ("http" | "secrets" | "state"), _)) => {
            Err(form(format!("`{kind}` grants are not available in this version")))
        }
        Some(_) | None => Err(GrantError::Kind { text: crate::text::escape_control(text) }),
    }
}

fn parse_files(rest: &str) -> Result<FileGrant, String> {
    let (paths, access) = match rest.rsplit_once(':') {
        Some((paths, "ro")) => (paths, Access::ReadOnly),
        Some((paths, "rw")) => (paths, Access::ReadWrite),
        Some(_) | None => (rest, Access::ReadOnly),
    };
    let Some((host, guest)) = paths.rsplit_once(':') else {
        return Err("expected a host directory and a guest path, such as `files=./data:/data:ro`".into());
    };
    if host.is_empty() {
        return Err("the host directory is empty".into());
    }
    check_guest_path(guest)?;
    Ok(FileGrant { host: host.into(), guest: guest.into(), access })
}

/// Checks a guest path: absolute, normal components only.
///
/// # Errors
/// A phrase that says what was expected.
pub fn check_guest_path(guest: &str) -> Result<(), String> {
    let normal = guest.strip_prefix('/').is_some_and(|rest| {
        rest.is_empty() || rest.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
    });
    if normal && !guest.contains(char::is_control) {
        Ok(())
    } else {
        let guest = crate::text::escape_control(guest);
        Err(format!(
            "guest path `{guest}` must be absolute and plain, such as `/data`; `access` is `ro` or `rw`"
        ))
    }
}

/// Checks the name and value of an environment variable.
///
/// # Errors
/// A phrase that says what was expected.
pub fn check_env(name: &str, value: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        Err("an environment variable needs a name, and neither NUL nor `=` may stand in it".into())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_read_as_they_are_documented() {
        let files = |host: &str, guest: &str, access| {
            Grant::Files(FileGrant { host: host.into(), guest: guest.into(), access })
        };
        assert_eq!(parse_grant("files=./data:/data").unwrap(), files("./data", "/data", Access::ReadOnly));
        assert_eq!(parse_grant("files=a:b:/data:rw").unwrap(), files("a:b", "/data", Access::ReadWrite));
        assert_eq!(
            parse_grant("env=LANG=C=D").unwrap(),
            Grant::Env { name: "LANG".into(), value: "C=D".into() }
        );
    }

    #[test]
    fn wrong_grants_say_what_was_expected() {
        for bad in [
            "",
            "files",
            "files=",
            "files=:/x",
            "files=a",
            "files=a:rel",
            "files=a:/x/../y",
            "files=a:/x:rx",
            "env=A",
            "env==x",
            "http=x",
            "fles=a:/b",
        ] {
            assert!(parse_grant(bad).is_err(), "{bad:?}");
        }
        let error = parse_grant("fles=a:/b").unwrap_err().to_string();
        assert!(error.contains("files=HOST:GUEST"), "{error}");
    }

    #[test]
    fn the_digest_of_grants_changes_with_each_part_and_not_with_their_order() {
        let grants = |texts: &[&str]| {
            let mut grants = Grants::default();
            for text in texts {
                grants.add(parse_grant(text).unwrap()).unwrap();
            }
            grants.digest()
        };
        let all = ["files=a:/a:ro", "files=b:/b:rw", "env=LANG=C"];
        assert_eq!(grants(&all), grants(&["env=LANG=C", "files=b:/b:rw", "files=a:/a"]));
        for other in [
            &["files=c:/a:ro", "files=b:/b:rw", "env=LANG=C"][..],
            &["files=a:/c:ro", "files=b:/b:rw", "env=LANG=C"],
            &["files=a:/a:rw", "files=b:/b:rw", "env=LANG=C"],
            &["files=a:/a:ro", "files=b:/b:rw", "env=LANG=D"],
            &["files=a:/a:ro", "files=b:/b:rw", "env=LC=C"],
            &["files=a:/a:ro", "env=LANG=C"],
            &["files=a:/a:ro", "files=b:/b:rw"],
            &[],
        ] {
            assert_ne!(grants(&all), grants(other), "{other:?}");
        }
    }

    #[test]
    fn the_same_place_is_not_granted_twice() {
        let mut grants = Grants::default();
        grants.add(parse_grant("files=a:/data").unwrap()).unwrap();
        assert!(grants.add(parse_grant("files=b:/data:rw").unwrap()).is_err());
    }
}

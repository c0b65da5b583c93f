//! What is read from the environment of the process; nothing below this crate does it.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder for compiled components: `HOTCELL_CACHE_DIR`, else `XDG_CACHE_HOME/hotcell`, else `~/.cache/hotcell`.
///
/// `None` when none of the three variables holds an absolute path.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the facade is where the environment is read")]
pub fn cache_dir() -> Option<PathBuf> {
    choose_cache_dir(|name| std::env::var_os(name))
}

fn choose_cache_dir(read: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    choose_dir(read, "HOTCELL_CACHE_DIR", "XDG_CACHE_HOME", ".cache")
}

/// The folder that our own variable names, else ours in the folder for all programs, else ours in that folder's place at
/// home.
fn choose_dir(
    read: impl Fn(&str) -> Option<OsString>,
    own: &str,
    of_all: &str,
    at_home: &str,
) -> Option<PathBuf> {
    // A relative path would put the folder wherever the program happens to be started, which may be a
    // folder that others prepared.
    let absolute = |name: &str| read(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(own)
        .or_else(|| absolute(of_all).map(|folder| folder.join("hotcell")))
        .or_else(|| absolute("HOME").map(|folder| folder.join(at_home).join("hotcell")))
}

/// The folder for results that were too large for a model: `results` in `HOTCELL_STATE_DIR`, else in
/// `XDG_STATE_HOME/hotcell`, else in `~/.local/state/hotcell`.
///
/// `None` when none of the three variables holds an absolute path.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the facade is where the environment is read")]
pub fn results_dir() -> Option<PathBuf> {
    choose_results_dir(|name| std::env::var_os(name))
}

fn choose_results_dir(read: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    choose_dir(read, "HOTCELL_STATE_DIR", "XDG_STATE_HOME", ".local/state")
        .map(|folder| folder.join("results"))
}

/// A new name: 64 random bits in hexadecimal.
pub(crate) fn random_hex() -> std::io::Result<String> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// A new id: the word, a dash and 64 random bits.
pub(crate) fn random_id(word: &str) -> Result<String, String> {
    random_hex().map(|name| format!("{word}-{name}")).map_err(|error| error.to_string())
}

/// The program that is running, also after its file was replaced.
#[cfg(feature = "sandbox")]
pub(crate) fn this_program() -> std::io::Result<PathBuf> {
    let itself = std::path::Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && itself.exists() {
        return Ok(itself.to_path_buf());
    }
    std::env::current_exe()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let read = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        assert_eq!(choose_cache_dir(read).as_deref(), expected.map(std::path::Path::new), "{variables:?}");
    }

    #[test]
    fn results_lie_in_the_folder_for_state() {
        let choose = |variables: &[(&str, &str)]| {
            let read = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            };
            choose_results_dir(read)
        };
        let path = |path: &str| Some(PathBuf::from(path));
        assert_eq!(choose(&[("HOTCELL_STATE_DIR", "/s"), ("XDG_STATE_HOME", "/x")]), path("/s/results"));
        assert_eq!(choose(&[("XDG_STATE_HOME", "/x"), ("HOME", "/h")]), path("/x/hotcell/results"));
        assert_eq!(
            choose(&[("XDG_STATE_HOME", "x"), ("HOME", "/h")]),
            path("/h/.local/state/hotcell/results")
        );
        assert_eq!(choose(&[("HOME", "h")]), None);
    }

    #[test]
    fn the_most_specific_variable_with_an_absolute_path_wins() {
        check(&[("HOTCELL_CACHE_DIR", "/c"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/c"));
        check(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/x/hotcell"));
        check(&[("HOME", "/h")], Some("/h/.cache/hotcell"));
        check(
            &[("HOTCELL_CACHE_DIR", "c"), ("XDG_CACHE_HOME", ""), ("HOME", "/h")],
            Some("/h/.cache/hotcell"),
        );
        check(&[("HOME", "")], None);
        check(&[], None);
    }
}

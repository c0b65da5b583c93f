//! `hotcell policy init`: the smallest policy that lets components work.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};

use hotcell::text::escape_control;
use hotcell::{PolicySubject, inspect, starter_policy};

use crate::arguments::PolicyInit;
use crate::component_source;
use crate::console::{note, print};
use crate::ending::{Complaint, Exit};

/// Writes the policy, or prints it.
pub(crate) fn run(command: &PolicyInit) -> anyhow::Result<Exit> {
    let subjects = command
        .files
        .iter()
        .map(|file| subject(file, command.out.as_deref()))
        .collect::<Result<Vec<_>, _>>()?;
    let text = starter_policy(&subjects);
    match &command.out {
        None => print(text)?,
        Some(out) => {
            write(out, &text, command.force)?;
            let shown = escape_control(&out.to_string_lossy());
            note(format_args!(
                "wrote {shown}; complete the lines in comments, then `hotcell policy check {shown}`"
            ));
        }
    }
    Ok(Exit::Done)
}

fn subject(file: &Path, out: Option<&Path>) -> Result<PolicySubject, Complaint> {
    let bytes = component_source::read(file)?;
    let named = |source| hotcell::ComponentError::Component { name: file.display().to_string(), source };
    let inspection = inspect(&bytes).map_err(named)?;
    inspection.check().map_err(named)?;
    let source = seen_from(file, out)?;
    if source.to_str().is_none() {
        let shown = escape_control(&source.to_string_lossy());
        return Err(Complaint::usage(format!(
            "the path `{shown}` is not UTF-8 text, so no policy can name it"
        ))
        .help("give the file another name"));
    }
    Ok(PolicySubject { source, inspection })
}

/// The component's path as it is written in a policy in that place.
fn seen_from(file: &Path, out: Option<&Path>) -> Result<PathBuf, Complaint> {
    let unreadable = |path: &Path, error: std::io::Error| {
        Complaint::usage(format!("`{}` cannot be found", escape_control(&path.to_string_lossy())))
            .because(error)
    };
    let Some(out) = out else { return Ok(file.to_path_buf()) };
    let folder = match out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let folder = folder.canonicalize().map_err(|error| unreadable(folder, error))?;
    // A component inside of this binary has no path.
    let Ok(whole) = file.canonicalize() else { return Ok(file.to_path_buf()) };
    Ok(relative(&whole, &folder))
}

/// The path as seen from the folder; both are whole and without links.
fn relative(whole: &Path, folder: &Path) -> PathBuf {
    let shared = whole.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    if shared <= 1 {
        // They have nothing but the root in common, so the whole path says more.
        return whole.to_path_buf();
    }
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(whole.components().skip(shared)).collect()
}

fn write(out: &Path, text: &str, force: bool) -> Result<(), Complaint> {
    let shown = escape_control(&out.to_string_lossy());
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let written = options.open(out).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Complaint::usage(format!("`{shown}` exists already"))
            .help("name another file, or give `--force` to replace it"),
        _ => Complaint::usage(format!("`{shown}` cannot be written")).because(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_seen_from_the_folder_of_the_policy() {
        let check = |file: &str, folder: &str, expected: &str| {
            assert_eq!(relative(Path::new(file), Path::new(folder)), Path::new(expected), "{file} {folder}");
        };
        check("/srv/p/a.wasm", "/srv/p", "a.wasm");
        check("/srv/p/tools/a.wasm", "/srv/p", "tools/a.wasm");
        check("/srv/tools/a.wasm", "/srv/conf/deep", "../../tools/a.wasm");
        check("/opt/a.wasm", "/srv/p", "/opt/a.wasm");
    }
}

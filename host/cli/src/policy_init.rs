//! `hotcell policy init`: the smallest policy that lets components work.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

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
    Ok(PolicySubject { source: seen_from(file, out)?, inspection })
}

/// The component's path as it is written in a policy in that place: relative when it lies below, else absolute.
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
    Ok(whole.strip_prefix(&folder).map(Path::to_path_buf).unwrap_or(whole))
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

//! `hotcell clean`: removes results of earlier runs that were too large for the model and kept on disk.

use std::time::Duration;

use hotcell::units::{format_bytes, format_duration};
use hotcell::{Cleaned, Removal, ResultFolder, ResultFolderLimits, results_dir};
use serde::Serialize;

use crate::arguments::Clean;
use crate::console::{print, print_json};
use crate::ending::{Complaint, Exit};

/// What was done, for machines.
#[derive(Debug, Serialize)]
struct Report {
    folder: String,
    dry_run: bool,
    removed_folders: u64,
    removed_results: u64,
    removed_bytes: u64,
    skipped_folders: u64,
}

/// Cleans and says what it removed.
pub(crate) fn run(command: &Clean) -> anyhow::Result<Exit> {
    let folder = folder()?;
    let removal = if command.dry_run { Removal::DryRun } else { Removal::Remove };
    let older_than = command.older_than.unwrap_or(Duration::ZERO);
    let cleaned = folder.clean(older_than, removal).map_err(|error| {
        Complaint::failed("results", "the results of earlier runs cannot be removed")
            .because(error)
            .help("look at the folder; it should be yours alone, with mode 700")
    })?;
    if command.json {
        print_json(&report(&folder, command, cleaned))?;
    } else {
        print(sentence(&folder, command, cleaned))?;
    }
    Ok(Exit::Done)
}

/// The folder results are kept in.
///
/// # Errors
/// The environment names none.
pub(crate) fn folder() -> Result<ResultFolder, Complaint> {
    let path = results_dir().ok_or_else(|| {
        Complaint::usage("there is no folder for results of runs")
            .help("set HOTCELL_STATE_DIR to the absolute path of a folder")
    })?;
    Ok(ResultFolder::new(path, ResultFolderLimits::default()))
}

fn report(folder: &ResultFolder, command: &Clean, cleaned: Cleaned) -> Report {
    Report {
        folder: folder.path().display().to_string(),
        dry_run: command.dry_run,
        removed_folders: cleaned.folders,
        removed_results: cleaned.results,
        removed_bytes: cleaned.bytes,
        skipped_folders: cleaned.skipped,
    }
}

fn sentence(folder: &ResultFolder, command: &Clean, cleaned: Cleaned) -> String {
    let verb = if command.dry_run { "would remove" } else { "removed" };
    let age =
        command.older_than.map(|age| format!(" older than {}", format_duration(age))).unwrap_or_default();
    let place = folder.path().display();
    let Cleaned { folders, results, bytes, skipped } = cleaned;
    let mut text = if folders == 0 {
        format!("nothing{age} to remove in {place}")
    } else {
        format!("{verb} {results} results of {folders} agents{age}, {}, in {place}", format_bytes(bytes))
    };
    if skipped > 0 {
        text = format!("{text}; {skipped} in use");
    }
    format!("{text}\n")
}

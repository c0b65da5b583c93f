//! `hotcell tool build`: from a project to a component whose tools can be listed without running it.

mod cargo;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hotcell::text::escape_control;
use hotcell::units::{format_bytes, format_duration};
use hotcell::{
    Component, ComponentError, Definition, Inspection, LimitOverrides, Policy, ToolSet, embed_definitions,
    inspect,
};
use serde::Serialize;

use crate::arguments::ToolBuild;
use crate::console::{note, print, print_json};
use crate::ending::{Complaint, Exit};
use crate::report::shortened;
use crate::world::World;

/// Characters of a description that are shown.
const DESCRIPTION_CHARS: usize = 70;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Output<'a> {
    file: String,
    digest: String,
    bytes: u64,
    tools: Vec<&'a str>,
    imports: Vec<String>,
    elapsed_ms: u64,
}

/// Builds the project and writes the component.
pub(crate) async fn run(command: &ToolBuild) -> anyhow::Result<Exit> {
    let began = Instant::now();
    let built = cargo::build(&command.folder)?;
    let out = command.out.clone().unwrap_or_else(|| default_out(&command.folder, &built.package));
    let bytes = hotcell::read_component(&built.file).map_err(Complaint::from)?;
    let (finished, definitions) = finish(&built.package, bytes).await?;
    write(&out, &finished)?;
    let inspection = inspect(&finished).map_err(|source| refused(&built.package, source))?;
    report(command, &out, &inspection, &definitions, began.elapsed())?;
    Ok(Exit::Done)
}

/// NAME.wasm in the project's folder.
fn default_out(folder: &Path, package: &str) -> PathBuf {
    let name = format!("{package}.wasm");
    if folder == Path::new(".") { name.into() } else { folder.join(name) }
}

/// Checks the component, compiles it, asks it once for its tools and embeds what it said.
async fn finish(package: &str, bytes: Vec<u8>) -> anyhow::Result<(Vec<u8>, Vec<Definition>)> {
    inspect(&bytes).and_then(|inspection| inspection.check()).map_err(|source| refused(package, source))?;
    let world = World::new(&Policy::default(), LimitOverrides::default(), None)?;
    let component = world.sandbox.load_bytes(package, bytes.clone()).await.map_err(Complaint::from)?;
    note_output(&component);
    // What models would be offered: names and schemas are held to the same rules as at a call.
    ToolSet::new(component.offers().map_err(Complaint::from)?).map_err(|error| {
        Complaint::failed("invalid_definitions", format!("the tools of `{package}` cannot be offered"))
            .because(error)
            .help("correct the argument types of the tool that is named, and build again")
    })?;
    let definitions = component.definitions().to_vec();
    let finished = embed_definitions(&bytes, &definitions).map_err(|source| refused(package, source))?;
    // Loading what will be run makes sure that it can be, and its first call finds it compiled.
    world.sandbox.load_bytes(package, finished.clone()).await.map_err(Complaint::from)?;
    Ok((finished, definitions))
}

fn refused(package: &str, source: hotcell::LoadError) -> Complaint {
    ComponentError::Component { name: package.to_owned(), source }.into()
}

fn note_output(component: &Component) {
    for warning in component.warnings() {
        note(format_args!("warning: {warning}"));
    }
}

/// Writes the file whole or not at all.
fn write(out: &Path, bytes: &[u8]) -> Result<(), Complaint> {
    let failed = |error: std::io::Error| {
        Complaint::usage(format!(
            "the component cannot be written to `{}`",
            escape_control(&out.to_string_lossy())
        ))
        .because(error)
        .help("name a file in a folder you may write to with --out")
    };
    if out.is_dir() {
        return Err(failed(std::io::Error::new(std::io::ErrorKind::IsADirectory, "it is a directory")));
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".hotcell-")
        .permissions(plain_file())
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(out).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A component is no secret, unlike what temporary files usually hold; the process's mask still applies.
fn plain_file() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::Permissions::from_mode(0o666)
}

fn report(
    command: &ToolBuild,
    out: &Path,
    inspection: &Inspection,
    definitions: &[Definition],
    elapsed: Duration,
) -> anyhow::Result<()> {
    let imports: Vec<_> = inspection
        .imports
        .iter()
        .map(|group| match &group.version {
            Some(version) => format!("{}@{version}", group.package),
            None => group.package.clone(),
        })
        .collect();
    let shown = PathBuf::from(out).display().to_string();
    if command.json {
        return print_json(&Output {
            file: shown,
            digest: inspection.digest.to_string(),
            bytes: inspection.bytes,
            tools: definitions.iter().map(|tool| tool.name.as_str()).collect(),
            imports,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        });
    }
    let tool = |tool: &Definition| {
        let first = tool.description.lines().next().unwrap_or_default();
        format!("  {}: {}\n", tool.name, shortened(first, DESCRIPTION_CHARS))
    };
    print(format_args!(
        "built {} ({}, in {})\ndigest: {}\ntools:\n{}imports: {}\n",
        escape_control(&shown),
        format_bytes(inspection.bytes),
        format_duration(elapsed),
        inspection.digest,
        definitions.iter().map(tool).collect::<String>(),
        escape_control(&imports.join(", "))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_written_whole_into_new_folders_and_never_over_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a/b/x.wasm");
        write(&out, b"one").unwrap();
        write(&out, b"two").unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(out.parent().unwrap()).unwrap().count(), 1);
        assert!(write(folder.path(), b"").is_err());
    }
}

//! `hotcell tool compile`: components compiled before they are needed.

use std::path::Path;

use hotcell::text::escape_control;
use hotcell::units::{format_bytes, format_duration};
use hotcell::{Cache, Compile, ComponentError, Precompiled, Sandbox, SandboxConfig};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::arguments::ToolCompile;
use crate::console::{complain, note, print, print_json};
use crate::ending::{Complaint, Exit};
use crate::interrupt::{interruptible, unless_cancelled};
use crate::load_lines::LoadLines;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Output {
    /// The folder of the artifacts; the cache when none was named.
    folder: Option<String>,
    files: Vec<FileOutput>,
}

#[derive(Debug, Serialize)]
struct FileOutput {
    file: String,
    #[serde(flatten)]
    result: FileResult,
}

#[derive(Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum FileResult {
    /// It was compiled now.
    Compiled(Artifact),
    /// There was an artifact already.
    Present(Artifact),
    /// There is none.
    Failed { code: &'static str, message: String, help: Option<String> },
}

#[derive(Debug, Serialize)]
struct Artifact {
    digest: String,
    artifact_bytes: u64,
    compile_ms: u128,
}

/// Compiles each file, one after the other, and says at the end which failed.
pub(crate) async fn run(command: &ToolCompile) -> anyhow::Result<Exit> {
    let cancel = CancellationToken::new();
    interruptible(&cancel, compile(command, &cancel)).await
}

async fn compile(command: &ToolCompile, cancel: &CancellationToken) -> anyhow::Result<Exit> {
    let sandbox = open(command)?;
    let mut results = Vec::with_capacity(command.files.len());
    for file in &command.files {
        let result = unless_cancelled(cancel, async { Ok(sandbox.precompile(file).await) }).await?;
        if let Ok(done) = &result {
            done.warnings.iter().for_each(|warning| note(format_args!("warning: {warning}")));
            if !command.json {
                print(line(file, done))?;
            }
        }
        results.push((file, result));
    }
    sandbox.shutdown().await;
    let failed = results.iter().any(|(_, result)| result.is_err());
    if command.json {
        let folder = sandbox.cache_state().folder.map(|folder| folder.display().to_string());
        let files = results.into_iter().map(|(file, result)| output(file, result)).collect();
        print_json(&Output { folder, files })?;
    } else {
        for (_, result) in results {
            if let Err(error) = result {
                complain(&Complaint::from(error).into(), false);
            }
        }
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// A sandbox whose cache is the folder that was asked for; without one there is nothing to do.
fn open(command: &ToolCompile) -> Result<Sandbox, Complaint> {
    let sandbox = Sandbox::new(SandboxConfig {
        slots: 1,
        cache: place(command),
        // A folder that is made to be carried elsewhere is as large as what it is made of.
        cache_bytes: if command.out.is_some() { u64::MAX } else { hotcell::DEFAULT_CACHE_BYTES },
        load_observer: LoadLines::unless(command.json),
        ..SandboxConfig::new(Compile::worker())
    })?;
    match sandbox.warning() {
        Some(warning) => Err(Complaint::failed("not_kept", warning.to_string())
            .help("name a folder that only you can enter (mode 700) with `--out` or HOTCELL_CACHE_DIR")),
        None => Ok(sandbox),
    }
}

fn place(command: &ToolCompile) -> Cache {
    match (&command.out, &command.key) {
        (Some(folder), Some(key)) => Cache::AtWithKey { folder: folder.clone(), key: key.clone() },
        (Some(folder), None) => Cache::At(folder.clone()),
        (None, _) => Cache::Default,
    }
}

fn line(file: &Path, done: &Precompiled) -> String {
    let file = escape_control(&file.to_string_lossy());
    let bytes = format_bytes(done.artifact_bytes);
    if done.from_cache {
        format!("{file}: was compiled already, {bytes}\n")
    } else {
        format!("{file}: compiled in {}, {bytes}\n", format_duration(done.took))
    }
}

fn output(file: &Path, result: Result<Precompiled, ComponentError>) -> FileOutput {
    let result = match result {
        Ok(done) => {
            let artifact = Artifact {
                digest: done.digest.to_string(),
                artifact_bytes: done.artifact_bytes,
                compile_ms: done.took.as_millis(),
            };
            if done.from_cache { FileResult::Present(artifact) } else { FileResult::Compiled(artifact) }
        }
        Err(error) => FileResult::Failed {
            code: error.code(),
            help: error.advice(),
            message: format!("{:#}", anyhow::Error::from(error)),
        },
    };
    FileOutput { file: file.display().to_string(), result }
}

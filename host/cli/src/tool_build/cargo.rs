//! Running cargo for the wasm target and finding what it made.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hotcell::text::escape_control;
use serde_json::Value;

use crate::ending::Complaint;

/// The target of every tool.
const TARGET: &str = "wasm32-wasip2";

/// Flags that are meant for programs of this machine and would break, or change, what is built for another.
const REMOVED: &[&str] =
    &["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET"];

/// Bytes of one line that cargo prints; longer ones are not about artifacts.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// What cargo made.
#[derive(Debug)]
pub(super) struct Built {
    /// The name of the package.
    pub(super) package: String,
    /// The component.
    pub(super) file: PathBuf,
}

/// Compiles the project in the folder. Errors of the compiler go to standard error as they come.
pub(super) fn build(folder: &Path) -> Result<Built, Complaint> {
    let shown = escape_control(&folder.to_string_lossy());
    let manifest = folder.join("Cargo.toml").canonicalize().map_err(|error| {
        Complaint::usage(format!("`{shown}` has no Cargo.toml that can be read"))
            .because(error)
            .help("name the folder of the project, or start one with `hotcell tool new NAME`")
    })?;
    check_target(folder)?;
    let mut command = Command::new(program("CARGO", "cargo"));
    command
        .args(["build", "--release", "--target", TARGET, "--message-format=json-render-diagnostics"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    REMOVED.iter().for_each(|name| {
        command.env_remove(name);
    });
    let mut child = command.spawn().map_err(|error| {
        Complaint::failed("toolchain", "cargo cannot be started")
            .because(error)
            .help("install Rust from https://rustup.rs, and open a new terminal so that `cargo` is found")
    })?;
    let found = child.stdout.take().map(|stdout| find_component(stdout, &manifest));
    let status = child.wait().map_err(|error| {
        Complaint::failed("toolchain", "cargo was started and cannot be waited for").because(error)
    })?;
    if !status.success() {
        return Err(Complaint::failed("build", format!("cargo could not build `{shown}` ({status})"))
            .help("correct what the compiler reports above"));
    }
    found.flatten().ok_or_else(|| {
        Complaint::failed("build", format!("cargo built `{shown}`, and no component came out"))
            .help("the package needs `[lib]` with `crate-type = [\"cdylib\", \"rlib\"]` in its Cargo.toml")
    })
}

/// A program that an environment variable may name, as cargo itself does.
#[expect(clippy::disallowed_methods, reason = "the cli may read the environment")]
fn program(variable: &str, otherwise: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| otherwise.into(), PathBuf::from)
}

/// Reads cargo's messages to their end and keeps the component of the project's own package.
fn find_component(stdout: impl std::io::Read, manifest: &Path) -> Option<Built> {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    let mut found = None;
    loop {
        line.clear();
        match reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            // The exit status says whether something went wrong.
            Ok(0) | Err(_) => return found,
            Ok(_) => {}
        }
        if let Ok(message) = serde_json::from_slice::<Value>(&line)
            && let Some(built) = component_of(&message, manifest)
        {
            found = Some(built);
        }
    }
}

fn component_of(message: &Value, manifest: &Path) -> Option<Built> {
    if message.get("reason")? != "compiler-artifact" {
        return None;
    }
    let of_package = Path::new(message.get("manifest_path")?.as_str()?);
    if of_package.canonicalize().ok()?.as_path() != manifest {
        return None;
    }
    let files = message.get("filenames")?.as_array()?;
    let file = files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".wasm"))?;
    let package = package_name(message.get("package_id")?.as_str()?)
        .or_else(|| message.pointer("/target/name")?.as_str().map(str::to_owned))?;
    Some(Built { package, file: file.into() })
}

/// The name in a package id: `path+file:///x/name#0.1.0` or `path+file:///x/folder#name@0.1.0`.
fn package_name(id: &str) -> Option<String> {
    let (source, fragment) = id.rsplit_once('#')?;
    let name = match fragment.split_once('@') {
        Some((name, _version)) => name,
        None => source.rsplit('/').next()?,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

/// Makes sure that Rust can compile for the target, because cargo's own message about it does not say what to do.
fn check_target(folder: &Path) -> Result<(), Complaint> {
    let output = Command::new(program("RUSTC", "rustc"))
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            Complaint::failed("toolchain", "rustc cannot be started")
                .because(error)
                .help("install Rust from https://rustup.rs, and open a new terminal so that `rustc` is found")
        })?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if has_std(&libraries) || flags_name_a_library() {
        return Ok(());
    }
    let help = if Command::new("rustup").arg("--version").output().is_ok() {
        format!("run `rustup target add {TARGET}` and try again")
    } else {
        format!(
            "with rustup: `rustup target add {TARGET}`; without it, install the {TARGET} standard library \
             of exactly your rustc version, or name its folder in CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS=\"-L DIR\""
        )
    };
    Err(Complaint::failed(
        "toolchain",
        format!("this Rust toolchain cannot compile for {TARGET}; looked in `{}`", libraries.display()),
    )
    .help(help))
}

fn has_std(libraries: &Path) -> bool {
    let Ok(entries) = libraries.read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

/// Whether the user has pointed cargo at a standard library of their own for this target.
#[expect(clippy::disallowed_methods, reason = "the cli may read the environment")]
fn flags_name_a_library() -> bool {
    std::env::var_os("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS")
        .is_some_and(|flags| flags.to_string_lossy().split_whitespace().any(|flag| flag.starts_with("-L")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_of_the_projects_own_package_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("Cargo.toml");
        std::fs::write(&own, "").unwrap();
        let own = own.canonicalize().unwrap();
        let message = |manifest: &Path, file: &str| {
            serde_json::json!({
                "reason": "compiler-artifact", "package_id": "path+file:///x/my-tool#0.1.0",
                "manifest_path": manifest, "filenames": ["/t/libx.rlib", file], "target": {"name": "my_tool"},
            })
            .to_string()
        };
        let lines = [
            "not json".to_owned(),
            message(Path::new("/other/Cargo.toml"), "/t/other.wasm"),
            message(&own, "/t/my_tool.wasm"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let built = find_component(lines.join("\n").as_bytes(), &own).unwrap();
        assert_eq!((built.package.as_str(), built.file.as_path()), ("my-tool", Path::new("/t/my_tool.wasm")));
        assert!(find_component(lines[..2].join("\n").as_bytes(), &own).is_none());
    }

    #[test]
    fn package_ids_name_their_package() {
        assert_eq!(package_name("path+file:///x/my-tool#0.1.0").as_deref(), Some("my-tool"));
        assert_eq!(package_name("path+file:///x/folder#my-tool@0.1.0").as_deref(), Some("my-tool"));
        assert_eq!(package_name("strange"), None);
    }
}

//! `hotcell tool new`: a project for a tool that builds, is tested and can be called.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hotcell::text::escape_control;

use crate::arguments::ToolNew;
use crate::console::print;
use crate::ending::{Complaint, Exit};

/// Longest name of a project.
const MAX_NAME_BYTES: usize = 64;

/// Names that cargo or Rust keep for themselves.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    // These are dependencies of the project itself.
    "hotcell-tool",
    "hotcell_tool",
    "schemars",
    "serde",
    "serde_json",
];

/// The files of a project; `@NAME@`, `@CRATE@` and `@SDK@` are replaced.
const TEMPLATE: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("tool_new/template/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("tool_new/template/lib.rs.txt")),
    ("policy.toml", include_str!("tool_new/template/policy.toml.txt")),
    ("README.md", include_str!("tool_new/template/README.md.txt")),
    (".gitignore", include_str!("tool_new/template/gitignore.txt")),
];

/// Makes the project.
pub(crate) fn run(command: &ToolNew) -> anyhow::Result<Exit> {
    let name = check_name(&command.name)?;
    let sdk = dependency(command.sdk.as_deref())?;
    let folder = command.path.clone().unwrap_or_else(|| PathBuf::from(name));
    let shown = escape_control(&folder.to_string_lossy());
    make(&folder, name, &sdk).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Complaint::usage(format!("`{shown}` exists already and is not empty"))
                .help("choose another name, or another folder with --path")
        }
        _ => Complaint::usage(format!("the project cannot be written to `{shown}`")).because(error),
    })?;
    print(format_args!(
        "made {shown}: a project with one tool, `greet`\n\n\
         next:\n  cd {shown}\n  cargo test\n  hotcell tool build\n  hotcell tool call {name}.wasm --args name=world\n"
    ))?;
    Ok(Exit::Done)
}

fn check_name(name: &str) -> Result<&str, Complaint> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let good = name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(plain);
    let shown = escape_control(&hotcell::text::cap_chars(name, 80));
    if !good {
        return Err(Complaint::usage(format!("`{shown}` cannot be the name of a project"))
            .help("use 1 to 64 small letters a-z, digits, `-` and `_`, and begin with a letter"));
    }
    if RESERVED.contains(&name) {
        return Err(Complaint::usage(format!("`{shown}` is a name that Rust or the project needs itself"))
            .help(format!("choose another one, such as `{name}-tool`")));
    }
    Ok(name)
}

/// Where the project finds the `hotcell-tool` crate, as the value of a dependency.
fn dependency(sdk: Option<&Path>) -> Result<String, Complaint> {
    if let Some(folder) = sdk {
        let folder = folder.canonicalize().ok().filter(|folder| is_sdk(folder)).ok_or_else(|| {
            Complaint::usage(format!(
                "`{}` is not the `hotcell-tool` crate",
                escape_control(&folder.to_string_lossy())
            ))
            .help("name the folder `guest-sdk` of a checkout of hotcell")
        })?;
        return Ok(by_path(&folder));
    }
    // A binary that was built in a checkout uses the crate beside it, so that both fit together.
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk");
    Ok(match beside.canonicalize().ok().filter(|folder| is_sdk(folder)) {
        Some(folder) => by_path(&folder),
        None => format!("{{ version = \"{}\" }}", env!("CARGO_PKG_VERSION")),
    })
}

fn is_sdk(folder: &Path) -> bool {
    fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("name = \"hotcell-tool\""))
}

fn by_path(folder: &Path) -> String {
    // The debug form of a string is also a TOML string as long as nothing exotic is in it.
    format!("{{ path = {:?} }}", folder.to_string_lossy())
}

/// Writes the project into a new folder beside its place and moves it there, so that it is there whole or
/// not at all.
fn make(folder: &Path, name: &str, sdk: &str) -> io::Result<()> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) || folder.is_file() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let beside = tempfile::Builder::new().prefix(".hotcell-new-").tempdir_in(parent)?;
    let project = beside.path().join("project");
    for (path, text) in TEMPLATE {
        let path = project.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let text =
            text.replace("@NAME@", name).replace("@CRATE@", &name.replace('-', "_")).replace("@SDK@", sdk);
        fs::write(path, text)?;
    }
    fs::rename(&project, folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_crates_are_wrong_usage() {
        assert!(check_name("word-count2").is_ok());
        for bad in ["", "2x", "Word", "a b", "-a", "ü", "test", "serde", "a/b", &"a".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_project_is_made_whole_and_never_over_another() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("deep/er/my-tool");
        make(&folder, "my-tool", "{ path = \"/x\" }").unwrap();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains("name = \"my-tool\"") && manifest.contains("hotcell-tool = { path = \"/x\" }")
        );
        for (path, _) in TEMPLATE {
            let text = fs::read_to_string(folder.join(path)).unwrap();
            assert!(!text.contains('@'), "{path} has a placeholder left: {text}");
        }
        assert_eq!(make(&folder, "my-tool", "").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        // Only the project is left behind.
        assert_eq!(fs::read_dir(folder.parent().unwrap()).unwrap().count(), 1);
    }
}

//! Where things are in the checkout and in the target folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folders of one checkout.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// Where the host is built.
    pub(crate) target: PathBuf,
}

/// One guest component and where it goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    /// The name of its folder.
    pub(crate) name: String,
    /// The folder with its manifest.
    pub(crate) folder: PathBuf,
    /// The component to write.
    pub(crate) output: PathBuf,
}

impl Layout {
    /// Finds the checkout that cargo runs this program for; `CARGO_TARGET_DIR` moves the target folder.
    ///
    /// The folder known when this program was compiled is only the second choice: checkouts that share a
    /// target folder share this binary.
    ///
    /// # Errors
    /// The checkout is gone, or the working directory is.
    pub(crate) fn find() -> Result<Self> {
        let package = crate::cargo::variable("CARGO_MANIFEST_DIR");
        let root = package
            .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")))
            .parent()
            .context("the manifest of xtask has no folder above it, expected the root of the checkout")?
            .to_path_buf();
        if !root.join("Cargo.toml").is_file() {
            bail!(
                "expected the checkout at {}, found no Cargo.toml there\n  \
                 help: run `cargo xtask` inside the checkout, so that it is built for it",
                root.display()
            );
        }
        let target = match crate::cargo::variable("CARGO_TARGET_DIR") {
            Some(folder) => std::path::absolute(&folder)
                .with_context(|| format!("cannot resolve CARGO_TARGET_DIR={}", folder.display()))?,
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// The `hotcell` binary as cargo leaves it.
    pub(crate) fn binary(&self) -> PathBuf {
        self.target.join("debug").join(format!("hotcell{}", std::env::consts::EXE_SUFFIX))
    }

    /// A copy of the binary with the components embedded, for the tests.
    pub(crate) fn demo_binary(&self) -> PathBuf {
        self.target.join("hotcell-demo").join(format!("hotcell{}", std::env::consts::EXE_SUFFIX))
    }

    /// Where guests are compiled.
    pub(crate) fn guest_target(&self) -> PathBuf {
        self.target.join("guests")
    }

    /// Where the components of the example tools go.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// Where the components of the test guests go.
    pub(crate) fn test_guests(&self) -> PathBuf {
        self.tools().join("tests")
    }

    /// The workspace of the fuzz targets.
    pub(crate) fn fuzz(&self) -> PathBuf {
        self.root.join("fuzz")
    }

    /// Where fuzz targets are built and keep what they find.
    pub(crate) fn fuzz_target(&self) -> PathBuf {
        self.target.join("fuzz")
    }

    /// The example tools, sorted by name; these go into the demo.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub(crate) fn example_tools(&self) -> Result<Vec<Guest>> {
        guests_in(&self.root.join("example-tools"), &self.tools())
    }

    /// All guests, sorted by name, example tools first.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub(crate) fn guests(&self) -> Result<Vec<Guest>> {
        let mut guests = self.example_tools()?;
        guests.extend(guests_in(&self.root.join("tests/guests"), &self.test_guests())?);
        Ok(guests)
    }

    /// The guests with these names, or all without names.
    ///
    /// # Errors
    /// A name without a guest, or a folder that cannot be read.
    pub(crate) fn guests_named(&self, names: &[String]) -> Result<Vec<Guest>> {
        let all = self.guests()?;
        for name in names {
            if !all.iter().any(|guest| guest.name == *name) {
                let known: Vec<&str> = all.iter().map(|guest| guest.name.as_str()).collect();
                bail!("no guest is called `{name}`: expected one of {}", known.join(", "));
            }
        }
        Ok(all.into_iter().filter(|guest| names.is_empty() || names.contains(&guest.name)).collect())
    }

    /// The folders whose manifest is a cargo workspace of guests.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub(crate) fn guest_workspaces(&self) -> Result<Vec<PathBuf>> {
        let mut workspaces = Vec::new();
        for folder in ["example-tools", "tests/guests"] {
            let folder = self.root.join(folder);
            if folder.join("Cargo.toml").is_file() {
                workspaces.push(folder);
            } else {
                workspaces.extend(packages_in(&folder)?);
            }
        }
        Ok(workspaces)
    }
}

fn guests_in(folder: &Path, output: &Path) -> Result<Vec<Guest>> {
    let mut guests = Vec::new();
    for folder in packages_in(folder)? {
        let name = folder
            .file_name()
            .and_then(|name| name.to_str())
            .with_context(|| format!("the folder name of the guest {} is not UTF-8", folder.display()))?
            .to_owned();
        guests.push(Guest { output: output.join(format!("{name}.wasm")), name, folder });
    }
    Ok(guests)
}

/// The folders inside `folder` that have a manifest, sorted; none when `folder` is missing.
fn packages_in(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut packages = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        if path.join("Cargo.toml").is_file() {
            packages.push(path);
        }
    }
    packages.sort();
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_folders(test: &str, manifests: &[&str]) -> Layout {
        let root = std::env::temp_dir().join(format!("xtask-layout-{test}-{}", std::process::id()));
        for manifest in manifests {
            let path = root.join(manifest);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        Layout { target: root.join("target"), root }
    }

    #[test]
    fn guests_are_the_folders_with_a_manifest_and_go_to_their_own_places() {
        let layout = with_folders(
            "guests",
            &[
                "example-tools/b/Cargo.toml",
                "example-tools/a/Cargo.toml",
                "example-tools/README.md",
                "tests/guests/z/Cargo.toml",
            ],
        );
        let found: Vec<(String, PathBuf)> =
            layout.guests().unwrap().into_iter().map(|guest| (guest.name, guest.output)).collect();
        let tools = layout.target.join("tools");
        let expected = [
            ("a".to_owned(), tools.join("a.wasm")),
            ("b".to_owned(), tools.join("b.wasm")),
            ("z".to_owned(), tools.join("tests").join("z.wasm")),
        ];
        assert_eq!(found, expected);
        assert_eq!(layout.example_tools().unwrap().len(), 2);
        let one = layout.guests_named(&["b".to_owned()]).unwrap();
        assert_eq!(one.len(), 1);
        let message = layout.guests_named(&["c".to_owned()]).unwrap_err().to_string();
        assert_eq!(message, "no guest is called `c`: expected one of a, b, z");
        std::fs::remove_dir_all(&layout.root).unwrap();
    }

    #[test]
    fn a_folder_of_guests_is_one_workspace_when_it_has_a_manifest() {
        let layout = with_folders(
            "workspaces",
            &["example-tools/Cargo.toml", "example-tools/a/Cargo.toml", "tests/guests/z/Cargo.toml"],
        );
        let expected = [layout.root.join("example-tools"), layout.root.join("tests/guests/z")];
        assert_eq!(layout.guest_workspaces().unwrap(), expected);
        std::fs::remove_dir_all(&layout.root).unwrap();
    }

    #[test]
    fn a_checkout_without_guests_has_none() {
        let layout = with_folders("none", &["Cargo.toml"]);
        assert_eq!(layout.guests().unwrap(), []);
        assert_eq!(layout.guest_workspaces().unwrap(), [] as [PathBuf; 0]);
        std::fs::remove_dir_all(&layout.root).unwrap();
    }
}

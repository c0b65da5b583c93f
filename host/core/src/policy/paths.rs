//! Where the relative paths of a policy start.

use std::path::Path;

use crate::policy::Policy;

impl Policy {
    /// The same policy with relative sources and host directories put under `folder`,
    /// the folder of the policy file. Absolute paths stay as they are; nothing is looked up.
    #[must_use]
    pub fn resolved_at(mut self, folder: &Path) -> Self {
        for component in self.components.values_mut() {
            if let Some(source) = &mut component.source {
                *source = folder.join(&*source);
            }
            for files in &mut component.grants.files {
                files.host = folder.join(&files.host);
            }
        }
        for path in self.run.output_schema.iter_mut().chain(&mut self.run.attach) {
            *path = folder.join(&*path);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::file::PolicyFile;
    use std::path::Path;

    #[test]
    fn relative_paths_start_at_the_folder_and_absolute_ones_stay() {
        let text = r#"
            version = 1
            [components.notes]
            source = "tools/notes.wasm"
            grants.files = [{ host = "data", guest = "/a" }, { host = "/srv", guest = "/b" }]
        "#;
        let policy = PolicyFile::parse(text, "p.toml").unwrap().resolved_at(Path::new("/etc/hotcell"));
        let notes = &policy.components["notes"];
        assert_eq!(notes.source.as_deref(), Some(Path::new("/etc/hotcell/tools/notes.wasm")));
        let hosts: Vec<_> = notes.grants.files.iter().map(|files| files.host.as_path()).collect();
        assert_eq!(hosts, [Path::new("/etc/hotcell/data"), Path::new("/srv")]);
    }
}

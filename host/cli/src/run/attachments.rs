//! Files that go with the prompt.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use hotcell::content::Block;
use hotcell::media::{Media, MediaKind};
use hotcell::open_regular_file;

use crate::ending::Complaint;

/// Most files that go with one prompt.
const MAX_FILES: usize = 20;

/// Reads the files and looks at what they are.
pub(super) fn load(paths: &[PathBuf]) -> Result<Vec<Block>, Complaint> {
    if paths.len() > MAX_FILES {
        return Err(Complaint::usage(format!(
            "{} files are attached, at most {MAX_FILES} can be",
            paths.len()
        )));
    }
    paths.iter().map(|path| block(path)).collect()
}

fn block(path: &Path) -> Result<Block, Complaint> {
    let shown = path.display();
    let largest = u64::try_from(MediaKind::Pdf.max_bytes()).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    // One byte more than any kind may have, so that what is too large is seen to be.
    let read = open_regular_file(path).and_then(|file| file.take(largest + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        Complaint::usage(format!("the attachment `{shown}` cannot be read")).because(error)
    })?;
    let media = Media::detect(bytes).map_err(|error| {
        Complaint::usage(format!("the attachment `{shown}` cannot be sent")).because(error)
    })?;
    Ok(Block::Media { media })
}

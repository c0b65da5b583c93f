//! The directory with the notes.

use std::fs::{self, DirEntry, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use hotcell_tool::{Failure, Fault};

use crate::name::NoteName;
use crate::{Listing, Match, Matches, Mode, Note, Written};

/// Largest note; larger files are left alone.
const MAX_NOTE_BYTES: u64 = 64 * 1024;

/// Most notes a listing shows and a search reads.
const MAX_NOTES: usize = 1_000;

/// Most entries of the directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// Longest piece of a line that a search shows, in characters.
const MAX_LINE_CHARS: usize = 300;

/// One directory.
#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
}

impl Store {
    /// Checks that the directory is there.
    pub(crate) fn open(root: impl Into<PathBuf>) -> Result<Self, Failure> {
        let root = root.into();
        let granted = fs::metadata(&root).is_ok_and(|found| found.is_dir());
        if !granted {
            return Err(Failure::denied(format!("no directory is granted at `{}`", root.display()))
                .code("no_directory")
                .advice("ask the operator to grant one, such as with `--grant files=./notes:/notes:rw`"));
        }
        Ok(Self { root })
    }

    pub(crate) fn list(&self) -> Result<Listing, Failure> {
        let (names, more) = self.names()?;
        let mut notes = Vec::with_capacity(names.len());
        for name in names {
            let bytes = match self.size(&name) {
                Ok(bytes) => bytes,
                // It was removed between the two looks.
                Err(failure) if failure.fault == Fault::NotFound => continue,
                Err(failure) => return Err(failure),
            };
            notes.push(Note { name: name.as_str().to_owned(), bytes });
        }
        Ok(Listing { notes, more })
    }

    pub(crate) fn read(&self, name: &NoteName) -> Result<String, Failure> {
        let size = self.size(name)?;
        if size > MAX_NOTE_BYTES {
            return Err(Failure::conflict(format!(
                "the note `{}` has {size} bytes, at most {MAX_NOTE_BYTES} can be read",
                name.as_str()
            ))
            .code("too_large"));
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(self.path(name)).map_err(|error| failed("reading", name, error))?;
        // The size is checked again, since a file can grow between the two looks.
        file.take(MAX_NOTE_BYTES).read_to_end(&mut bytes).map_err(|error| failed("reading", name, error))?;
        String::from_utf8(bytes).map_err(|error| {
            Failure::conflict(format!("the note `{}` is not text: {error}", name.as_str())).code("not_text")
        })
    }

    pub(crate) fn write(&self, name: &NoteName, text: &str, mode: Mode) -> Result<Written, Failure> {
        let before = match self.size(name) {
            Ok(size) => Some(size),
            Err(failure) if failure.fault == Fault::NotFound => None,
            Err(failure) => return Err(failure),
        };
        let kept = if mode == Mode::Append { before.unwrap_or(0) } else { 0 };
        let bytes = kept.saturating_add(text.len() as u64);
        if bytes > MAX_NOTE_BYTES {
            return Err(Failure::invalid_input(format!(
                "the note would have {bytes} bytes, at most {MAX_NOTE_BYTES} are possible"
            ))
            .code("too_large")
            .advice("write a shorter text, or put it into several notes"));
        }
        let done = match (mode, before) {
            (Mode::Create, Some(_)) => {
                return Err(Failure::conflict(format!("a note `{}` exists already", name.as_str()))
                    .code("exists")
                    .advice("choose another name, or send `mode`: `replace` or `append`"));
            }
            (Mode::Append, Some(_)) => self.append(name, text),
            (Mode::Create | Mode::Append, None) => self.create(name, text),
            (Mode::Replace, _) => self.replace(name, text),
        };
        done.map_err(|error| {
            let failure = failed("writing", name, error);
            if failure.fault == Fault::Denied {
                failure.advice("the directory may be granted for reading alone; ask the operator for `rw`")
            } else {
                failure.effect_possible()
            }
        })?;
        Ok(Written { name: name.as_str().to_owned(), bytes, created: before.is_none() })
    }

    pub(crate) fn search(&self, text: &str, limit: usize) -> Result<Matches, Failure> {
        let wanted = text.to_lowercase();
        let mut found = Matches { matches: Vec::new(), more: false, skipped: Vec::new() };
        let (names, more) = self.names()?;
        found.more = more;
        for name in names {
            let Ok(note) = self.read(&name) else {
                found.skipped.push(name.as_str().to_owned());
                continue;
            };
            for (index, line) in note.lines().enumerate() {
                if !line.to_lowercase().contains(&wanted) {
                    continue;
                }
                if found.matches.len() >= limit {
                    found.more = true;
                    return Ok(found);
                }
                found.matches.push(Match {
                    note: name.as_str().to_owned(),
                    line: index + 1,
                    text: line.chars().take(MAX_LINE_CHARS).collect(),
                });
            }
        }
        Ok(found)
    }

    /// The names in their order, and whether there are more.
    fn names(&self) -> Result<(Vec<NoteName>, bool), Failure> {
        let entries = fs::read_dir(&self.root).map_err(|error| {
            Failure::new(Failure::from(error).fault, "the directory of the notes cannot be read")
        })?;
        let mut entries = entries.filter_map(Result::ok);
        let mut names: Vec<NoteName> =
            entries.by_ref().take(MAX_ENTRIES).filter_map(|entry| note(&entry)).collect();
        let more = entries.next().is_some() || names.len() > MAX_NOTES;
        names.sort();
        names.truncate(MAX_NOTES);
        Ok((names, more))
    }

    /// The size of a note; what is no plain file is none, wherever a link in it points to.
    fn size(&self, name: &NoteName) -> Result<u64, Failure> {
        match fs::symlink_metadata(self.path(name)) {
            Ok(found) if found.is_file() => Ok(found.len()),
            Ok(_) => {
                Err(Failure::denied(format!("`{}` is not a plain file", name.as_str())).code("not_a_file"))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Failure::not_found(format!("there is no note `{}`", name.as_str()))
                    .advice("call `list` to see which notes there are"))
            }
            Err(error) => Err(failed("reading", name, error)),
        }
    }

    fn create(&self, name: &NoteName, text: &str) -> io::Result<()> {
        OpenOptions::new().write(true).create_new(true).open(self.path(name))?.write_all(text.as_bytes())
    }

    fn append(&self, name: &NoteName, text: &str) -> io::Result<()> {
        OpenOptions::new().append(true).open(self.path(name))?.write_all(text.as_bytes())
    }

    /// Writes a draft beside the note first: a call that ends too early leaves the old note as it was.
    fn replace(&self, name: &NoteName, text: &str) -> io::Result<()> {
        let draft = self.root.join(name.draft());
        fs::write(&draft, text)?;
        fs::rename(&draft, self.path(name))
    }

    fn path(&self, name: &NoteName) -> PathBuf {
        self.root.join(name.file())
    }
}

fn note(entry: &DirEntry) -> Option<NoteName> {
    let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
    if plain { NoteName::of_file(entry.file_name().to_str()?) } else { None }
}

fn failed(doing: &str, name: &NoteName, error: io::Error) -> Failure {
    let failure = Failure::from(error);
    let message = format!("{doing} the note `{}` failed: {}", name.as_str(), failure.message);
    Failure { message, ..failure }
}

#[cfg(test)]
mod tests;

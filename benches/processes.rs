//! The child processes of a bench, as the system shows them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};

/// Compile processes that were seen.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    pids: BTreeSet<u32>,
    folders: BTreeSet<PathBuf>,
    at_once: usize,
    peak_bytes: u64,
}

impl Workers {
    /// Looks at the children there are now.
    pub(crate) fn look(&mut self) {
        let children = children();
        self.at_once = self.at_once.max(children.len());
        for pid in children {
            self.pids.insert(pid);
            self.folders.extend(fs::read_link(format!("/proc/{pid}/cwd")));
            self.peak_bytes = self.peak_bytes.max(peak_bytes(pid));
        }
    }

    /// Neither a process nor the folder it worked in may be left.
    pub(crate) fn check_gone(&self) -> Result<()> {
        let left = children();
        ensure!(left.is_empty(), "processes are left: {left:?}");
        let scratch =
            self.folders.iter().filter(|folder| folder.to_string_lossy().contains("hotcell-compile-"));
        let left: Vec<_> = scratch.filter(|folder| folder.exists()).collect();
        ensure!(left.is_empty(), "folders are left: {left:?}");
        Ok(())
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    pub(crate) fn at_once(&self) -> usize {
        self.at_once
    }

    pub(crate) fn count(&self) -> usize {
        self.pids.len()
    }
}

/// The children of all threads of this process.
fn children() -> Vec<u32> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = threads
        .filter_map(Result::ok)
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn peak_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    kib << 10
}

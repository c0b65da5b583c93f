//! Components, and a place where compile processes leave nothing behind.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hotcell_compiler::{Compile, CompileLimits, Compiler};

/// A folder for compile processes and one beside it.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        fs::create_dir(folder.path().join("scratch")).unwrap();
        Self { folder }
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.folder.path().join("scratch")
    }

    /// A file outside of the folder that has to be left clean.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A compiler whose process is the real worker.
    pub(crate) fn compiler(&self, limits: CompileLimits) -> Compiler {
        let program = env!("CARGO_BIN_EXE_hotcell-compile-worker").into();
        Compiler::new(Compile::Worker { program, args: Vec::new(), scratch: self.scratch() }, limits)
    }

    /// A compile process that runs this script instead.
    pub(crate) fn shell(&self, script: &str) -> Compile {
        Compile::Worker {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            scratch: self.scratch(),
        }
    }

    /// Nothing of a compile is left.
    #[track_caller]
    pub(crate) fn check_clean(&self) {
        let left: Vec<_> = fs::read_dir(self.scratch()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
        // A compile process has a file of the folder as its standard input. What it started is killed with it, and gone
        // a moment later.
        eventually(|| {
            let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
            let mut inputs = processes.filter_map(|process| fs::read_link(process.path().join("fd/0")).ok());
            !inputs.any(|input| input.starts_with(self.scratch()))
        });
    }
}

/// Waits for a state, for at most ten seconds.
#[track_caller]
pub(crate) fn eventually(state: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !state() {
        assert!(Instant::now() < deadline, "the state was not reached within ten seconds");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process exists and is not one that only waits to be reaped.
pub(crate) fn is_running(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z') && !line.contains('X'))
}

pub(crate) fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A component that exports one function.
pub(crate) fn component() -> Vec<u8> {
    component_with("")
}

/// The same with more in front.
pub(crate) fn component_with(more: &str) -> Vec<u8> {
    wat(&format!(
        r#"(component {more}
            (core module $m (func (export "run")))
            (core instance $i (instantiate $m))
            (func (export "run") (canon lift (core func $i "run"))))"#
    ))
}

/// A component that is small and needs much time and memory to compile: each branch may change one of many variables,
/// and the compiler follows each variable through each branch.
pub(crate) fn many_ifs(ifs: usize, locals: usize) -> Vec<u8> {
    let branch = |n: usize| {
        let (read, write) = (n % locals, (n * 7 + 1) % locals);
        format!(
            "(if (local.get {read}) (then (local.set {write} (i32.add (local.get {read}) (i32.const {n})))))\n"
        )
    };
    let body: String = (0..ifs).map(branch).collect();
    let uses: String = (0..locals).map(|n| format!("(call $use (local.get {n}))\n")).collect();
    component_with(&format!(
        "(core module (func $use (param i32)) (func (export \"f\") {} {body} {uses}))",
        "(local i32)".repeat(locals)
    ))
}

/// A component with a core module whose one function has this body, given in binary form.
pub(crate) fn component_with_body(body: &[u8]) -> Vec<u8> {
    let code = [leb(1), leb(body.len()), body.to_vec()].concat();
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        vec![1, 4, 1, 0x60, 0, 0],
        vec![3, 2, 1, 0],
        vec![10],
        leb(code.len()),
        code,
    ]
    .concat();
    [component(), vec![1], leb(module.len()), module].concat()
}

/// A component with a core module of this many functions that do nothing.
pub(crate) fn many_functions(count: usize) -> Vec<u8> {
    let section = |id: u8, content: Vec<u8>| [vec![id], leb(content.len()), content].concat();
    let functions = [leb(count), vec![0; count]].concat();
    let bodies = [leb(count), [0x02, 0x00, 0x0b].repeat(count)].concat();
    let types = section(1, vec![1, 0x60, 0, 0]);
    let module = [b"\0asm\x01\0\0\0".to_vec(), types, section(3, functions), section(10, bodies)].concat();
    [component(), vec![1], leb(module.len()), module].concat()
}

fn leb(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        bytes.push(if value == 0 { low } else { low | 0x80 });
        if value == 0 {
            return bytes;
        }
    }
}

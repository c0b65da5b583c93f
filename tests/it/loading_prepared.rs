//! `hotcell tool compile`, and programs that load what it made and compile nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hotcell::{Compile, Sandbox, SandboxConfig};
use hotcell_tests::{generated, guest};

use crate::loading_cache::{Place, has_child, names};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn open(compile: Compile) -> Result<Sandbox, hotcell::ComponentError> {
    Sandbox::new(SandboxConfig { slots: 4, ..SandboxConfig::new(compile) })
}

#[tokio::test]
async fn what_was_compiled_beforehand_is_loaded_and_nothing_else() {
    let place = Place::new();
    let (out, tool) = (place.path("out"), guest::path("text-stats"));
    let said = place.hotcell(&["tool", "compile", text(&tool), "--out", text(&out), "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json = said.json();
    assert_eq!(json["folder"], text(&out));
    assert_eq!(json["files"][0]["status"], "compiled");
    assert!(!place.cache().exists(), "the cache has no part in it");
    assert_eq!(
        place.hotcell(&["tool", "compile", text(&tool), "--out", text(&out), "--json"]).json()["files"][0]["status"],
        "present"
    );

    let sandbox = open(Compile::prepared(&out)).unwrap();
    let component = sandbox.load(&tool).await.unwrap();
    assert_eq!(component.offers().unwrap().len(), component.definitions().len());
    let error = sandbox.load(guest::path("notes")).await.unwrap_err();
    assert_eq!(error.code(), "not_compiled", "{error:?}");
    assert!(error.advice().unwrap().contains(&format!("hotcell tool compile FILE --out {}", text(&out))));
    // A file that is no component is still called what it is.
    let error = sandbox.load("/bin/sh").await.unwrap_err();
    assert_eq!(error.code(), "invalid_component", "{error:?}");
    drop(sandbox);

    // Changed, it is not believed, and not touched either.
    let entry = out.join("entries").join(&names(&out.join("entries"))[0]);
    let mut bytes = fs::read(&entry).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&entry, &bytes).unwrap();
    let sandbox = open(Compile::prepared(&out)).unwrap();
    assert_eq!(sandbox.load(&tool).await.unwrap_err().code(), "not_compiled");
    assert_eq!(fs::read(&entry).unwrap(), bytes);
    assert_eq!(sandbox.cache_state().counts.rejected, 1);
    place.check_clean();
}

#[tokio::test]
async fn the_key_may_be_kept_apart_and_the_folder_must_be_private() {
    let place = Place::new();
    let (out, key, tool) = (place.path("out"), place.path("artifacts.key"), guest::path("text-stats"));
    let said = place.hotcell(&["tool", "compile", text(&tool), "--out", text(&out), "--key", text(&key)]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(names(&out), ["entries"]);
    let with_key = || open(Compile::prepared_with_key(&out, &key));
    with_key().unwrap().load(&tool).await.unwrap();
    let error = open(Compile::prepared(&out)).unwrap_err();
    assert_eq!(error.code(), "prepared", "{error:?}");
    assert!(!out.join("key").exists(), "who only reads makes no key");

    fs::set_permissions(&out, fs::Permissions::from_mode(0o755)).unwrap();
    let error = with_key().unwrap_err();
    assert_eq!(error.code(), "prepared");
    assert!(error.to_string().contains("others can use it"), "{error}");
    fs::remove_dir_all(&out).unwrap();
    assert_eq!(with_key().unwrap_err().code(), "prepared");
}

#[test]
fn each_file_is_tried_and_all_faults_are_told_at_the_end() {
    let place = Place::new();
    let (good, other) = (guest::path("text-stats"), guest::path("notes"));
    let said = place.hotcell(&["tool", "compile", "/bin/sh", text(&good), "/nowhere.wasm", text(&other)]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.out.lines().count(), 2, "{said:?}");
    assert!(said.err.contains("ELF") && said.err.contains("/nowhere.wasm"), "{said:?}");
    let warm = place.hotcell(&["tool", "compile", text(&good), text(&other)]);
    assert_eq!(warm.out.matches("was compiled already").count(), 2, "{warm:?}");
    let json = place.hotcell(&["tool", "compile", "/bin/sh", text(&good), "--json"]);
    assert_eq!((json.code, json.err.as_str()), (Some(1), ""), "{json:?}");
    assert_eq!(json.json()["files"][0]["code"], "invalid_component");
    assert_eq!(json.json()["files"][1]["status"], "present");
    place.check_clean();

    fs::set_permissions(place.cache(), fs::Permissions::from_mode(0o777)).unwrap();
    let said = place.hotcell(&["tool", "compile", text(&good)]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("others can use it") && said.err.contains("help:"), "{said:?}");
    let said = place.hotcell(&["tool", "compile", text(&good), "--key", "k"]);
    assert_eq!(said.code, Some(2), "a key is for a folder: {said:?}");
}

#[test]
fn an_interrupt_while_a_component_compiles_leaves_nothing() {
    let place = Place::new();
    let hostile = place.path("hostile.wasm");
    fs::write(&hostile, generated::hostile(1).unwrap()).unwrap();
    let mut command = Command::new(guest::binary());
    command.args(["tool", "compile"]).arg(&hostile).stdin(Stdio::null());
    command.env("HOTCELL_CACHE_DIR", place.cache()).env("TMPDIR", place.path("scratch"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while !has_child(child.id()) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(begin.elapsed() < Duration::from_secs(60), "no compile began within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    place.check_clean();
}

//! `hotcell policy init`, `explain` and `schema`: what they say is what holds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hotcell_core::policy::file::PolicyFile;
use hotcell_tests::command::{Said, hotcell};
use hotcell_tests::guest;
use serde_json::{Value, json};

/// A folder with a policy for `notes` that says something at every level.
struct Place {
    folder: tempfile::TempDir,
}

const POLICY: &str = "version = 1
[defaults]
permission = \"deny\"
limits = { timeout = \"3s\" }
[components.notes]
source = \"notes.wasm\"
grants.files = [{ host = \".\", guest = \"/notes\" }]
permission = \"auto\"
expose = [\"list\", \"read\", \"write\"]
tools.write = { permission = \"ask\", timeout = \"1s\" }
[components.unseen]
tools.any = { permission = \"allow\" }
";

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(guest::path("notes"), folder.path().join("notes.wasm")).unwrap();
        std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn explain(&self, args: &[&str]) -> Said {
        let policy = self.path("policy.toml");
        hotcell(&[&["policy", "explain"], args, &["--policy", policy.to_str().unwrap()]].concat())
    }
}

#[test]
fn the_policy_that_init_writes_is_good_and_lets_the_component_work() {
    let place = Place::new();
    let (component, out) = (place.path("notes.wasm"), place.path("new.toml"));
    let args = ["policy", "init", component.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let said = hotcell(&args);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.contains("source = \"notes.wasm\""), "{text}");
    let said = hotcell(&["policy", "check", out.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:?}");

    // Completed as its comment says, it lets the component work.
    let completed =
        text.replace("# grants.files", "grants.files").replace("./DIRECTORY", ".").replace("/data", "/notes");
    std::fs::write(&out, completed).unwrap();
    std::fs::write(place.path("a.md"), "hello").unwrap();
    let call = ["tool", "call", component.to_str().unwrap(), "list", "--args", "{}", "--json", "--policy"];
    let said = hotcell(&[&call[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(said.json()["outcome"], "ok", "{said:?}");

    let said = hotcell(&args);
    assert_eq!(said.code, Some(2), "it never replaces a file unasked: {said:?}");
    assert!(said.err.contains("--force"), "{said:?}");
    assert_eq!(hotcell(&[&args[..], &["--force"]].concat()).code, Some(0));
}

#[test]
fn init_prints_and_refuses_what_cannot_be_loaded() {
    let place = Place::new();
    let said = hotcell(&["policy", "init", place.path("notes.wasm").to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    PolicyFile::parse(&said.out, "printed").unwrap();
    let core = place.path("core.wasm");
    std::fs::write(&core, b"\0asm\x01\0\0\0").unwrap();
    let said = hotcell(&["policy", "init", core.to_str().unwrap()]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("core WebAssembly module") && said.out.is_empty(), "{said:?}");
}

#[test]
fn explain_names_the_line_that_decides() {
    let place = Place::new();
    let said = place.explain(&["notes", "write", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json = said.json();
    assert_eq!((&json["component"], &json["entry"]["line"]), (&json!("notes"), &json!(5)), "{json}");
    assert_eq!(json["grants"][0]["by"]["line"], 7, "{json}");
    let [write] = json["tools"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!(
        (&write["verdict"], &write["permission"]["by"]["line"]),
        (&json!("ask"), &json!(10)),
        "{json}"
    );
    let overruled: Vec<_> = write["permission"]["instead_of"]
        .as_array()
        .unwrap()
        .iter()
        .map(|other| &other["by"]["line"])
        .collect();
    assert_eq!(overruled, [&json!(8), &json!(3)], "{json}");

    let said = place.explain(&["notes"]);
    for expected in
        ["policy.toml:10:17", "asks first", "list: asks first", "search: models do not see it", "built in"]
    {
        assert!(said.out.contains(expected), "{expected}: {said:?}");
    }
}

/// What explain says and what the door does are one thing: without a terminal `ask` is denied and the line it names
/// changes that.
#[test]
fn the_line_that_explain_offers_is_the_one_that_lets_the_call_run() {
    let place = Place::new();
    let said = place.explain(&["notes", "write"]);
    let line = said.out.lines().find_map(|line| line.trim().strip_prefix("this would let it run: ")).unwrap();
    let text = POLICY.replace("permission = \"ask\"", "permission = \"allow\"");
    assert!(line.ends_with("tools.write.permission = \"allow\""), "{line}");
    std::fs::write(place.path("policy.toml"), text).unwrap();
    let json = place.explain(&["notes", "write", "--json"]).json();
    assert_eq!(json["tools"][0]["verdict"], "allow", "{json}");
}

#[test]
fn explain_takes_a_file_a_typed_grant_and_an_entry_without_a_file() {
    let place = Place::new();
    let file = place.path("notes.wasm");
    let json =
        place.explain(&[file.to_str().unwrap(), "read", "--grant", "files=/tmp:/notes:rw", "--json"]).json();
    assert_eq!(json["grants"][0]["by"]["origin"], "typed", "{json}");
    assert_eq!(json["grants"].as_array().unwrap().len(), 1, "the typed grant took the other's place: {json}");
    let json = place.explain(&["unseen", "--json"]).json();
    assert_eq!(
        (&json["tools"][0]["tool"], &json["tools"][0]["verdict"]),
        (&json!("any"), &json!("allow")),
        "{json}"
    );

    let said = place.explain(&["nots"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("notes, unseen"), "{said:?}");
    let said = place.explain(&["notes", "nothing"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("has no tool `nothing`") && said.err.contains("list"), "{said:?}");
}

#[test]
fn explain_without_a_policy_says_what_is_built_in() {
    let said = hotcell(&["policy", "explain", guest::path("csv-query").to_str().unwrap(), "--json"]);
    let json = said.json();
    assert_eq!((&json["policy"], &json["tools"][0]["verdict"]), (&Value::Null, &json!("allow")), "{json}");
    assert_eq!(json["tools"][0]["permission"]["by"]["origin"], "built_in", "{json}");
}

fn schema() -> Value {
    let said = hotcell(&["policy", "schema"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()
}

fn from_toml(text: &str) -> Value {
    let table: toml::Table = toml::from_str(text).unwrap();
    serde_json::to_value(table).unwrap()
}

/// The keys the reader accepts in a table, by its own words: it lists them when it meets one that it does not know.
fn accepted(table: &str) -> BTreeSet<String> {
    let errors = PolicyFile::parse(&format!("version = 1\n{table}\n"), "p").unwrap_err();
    let problem = errors.problems().iter().find(|problem| problem.found.contains("`zzz`")).unwrap();
    problem.expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_schema_knows_the_keys_the_reader_knows_and_no_others() {
    let schema = schema();
    let component = "/$defs/component/properties";
    for (table, pointer) in [
        ("zzz = 1", "/properties".to_owned()),
        ("[defaults]\nzzz = 1", "/properties/defaults/properties".to_owned()),
        ("[defaults.limits]\nzzz = 1", "/$defs/limits/properties".to_owned()),
        ("[run]\nzzz = 1", "/properties/run/properties".to_owned()),
        ("[compile]\nzzz = 1", "/properties/compile/properties".to_owned()),
        ("[components.a]\nzzz = 1", component.to_owned()),
        ("[components.a.limits]\nzzz = 1", "/$defs/limits/properties".to_owned()),
        ("[components.a.grants]\nzzz = 1", format!("{component}/grants/properties")),
        (
            "[components.a]\ngrants.files = [{ host = \"a\", guest = \"/a\", zzz = 1 }]",
            format!("{component}/grants/properties/files/items/properties"),
        ),
        ("[components.a.tools.x]\nzzz = 1", format!("{component}/tools/additionalProperties/properties")),
    ] {
        let in_schema: BTreeSet<_> =
            schema.pointer(&pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        assert_eq!(in_schema, accepted(table), "{table:?} against {pointer}");
    }
}

#[test]
fn the_schema_takes_what_the_reader_takes_and_refuses_what_a_schema_can_refuse() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../example-tools");
    let of_examples = ["text-stats", "csv-query", "notes", "misbehave"]
        .map(|tool| std::fs::read_to_string(examples.join(tool).join("policy.toml")).unwrap());
    let good = "version = 1\n[run]\nmax_turns = \"unlimited\"\nmax_time = \"5 m\"\nmodel = \"openai/x\"\n[compile]\nisolation = \"required\"\n[components.a]\nrename = { x = \"y\" }\ngrants.env = { A = \"\" }\nlimits = { fuel = 1, result = \"2MiB\", table_elements = 9 }\n";
    for text in of_examples.iter().map(String::as_str).chain([POLICY, good]) {
        PolicyFile::parse(text, "p").unwrap();
        let errors: Vec<_> = validator.iter_errors(&from_toml(text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{text}: {errors:?}");
    }
    for bad in [
        "",
        "version = 2",
        "version = 1\nzzz = 1",
        "version = 1\n[defaults]\npermission = \"maybe\"",
        "version = 1\n[run]\nmax_turns = 0",
        "version = 1\n[run]\nmax_time = \"0s\"",
        "version = 1\n[run]\nmax_time = 5",
        "version = 1\n[run]\nmodel = \" \"",
        "version = 1\n[compile]\nisolation = true",
        "version = 1\n[components.a]\nsource = \"\"",
        "version = 1\n[components.a]\nsource = \"https://x\"",
        "version = 1\n[components.a]\ndigest = \"sha256:12\"",
        "version = 1\n[components.a]\nexpose = [\"x\", \"x\"]",
        "version = 1\n[components.a]\nexpose = [\"not a name\"]",
        "version = 1\n[components.a]\nprefix = \"a b\"",
        "version = 1\n[components.a]\nlimits = { memory = \"64MB\" }",
        "version = 1\n[components.a]\nlimits = { fuel = 0 }",
        "version = 1\n[components.a]\ngrants.http = []",
        "version = 1\n[components.a]\ngrants.files = [{ host = \"a\" }]",
        "version = 1\n[components.a]\ngrants.files = [{ host = \"a\", guest = \"b\" }]",
        "version = 1\n[components.a]\ngrants.env = { \"\" = \"x\" }",
        "version = 1\n[components.a]\ntools.x = { timeout = \"1 day\" }",
    ] {
        assert!(PolicyFile::parse(bad, "p").is_err(), "the reader takes {bad:?}");
        assert!(!validator.is_valid(&from_toml(bad)), "the schema takes {bad:?}");
    }
}

#[test]
fn a_command_line_that_cannot_be_read_is_json_as_well_when_json_was_asked_for() {
    for args in [
        &["policy", "check", "--json"][..],
        &["tool", "call", "x.wasm", "--timeout", "soon", "--json"],
        &["tool", "inspect", "--jsn", "--json"],
        &["nothing", "--json"],
    ] {
        let said = hotcell(args);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert_eq!(said.json()["error"]["code"], "usage", "{said:?}");
        assert!(said.err.contains("error:"), "people read it too: {said:?}");
    }
    assert!(hotcell(&["policy", "check"]).out.is_empty());
}

use super::*;

/// One problem in a text, without file name and place.
fn check(line: &str, expected: &str) {
    let text = format!("version = 1\n{line}\n");
    let errors = PolicyFile::parse(&text, "p.toml").expect_err(line);
    let [problem] = errors.problems() else { panic!("{line}: {errors}") };
    let found = format!("{}: {}, found {}", problem.path, problem.expected, problem.found);
    assert_eq!(found, expected, "{line}");
    assert!(problem.line >= 2, "{line}");
}

#[test]
fn all_problems_come_together_in_the_order_of_the_text() {
    let text = r#"version = 1
[defaults]
permision = "ask"
limits = { timeout = 10, memory = "64MB" }

[components.notes]
expose = ["list", "read"]
grants.http = [{ origin = "https://api.example.com" }]
grants.files = [{ host = "./data", guest = "data", access = "rw" }]
tools.wirte = { permission = "ask" }

[run]
max_turns = 0
max_time = "10 minutes"
"#;
    let expected = r#"policy file `conf/p.toml` is refused, it has 9 problems
conf/p.toml:3:1: defaults.permision: expected `limits` or `permission`, found the unknown key `permision`
  help: did you mean `permission`?
conf/p.toml:4:22: defaults.limits.timeout: expected a duration, such as "10s", found the integer 10
  help: write a whole number greater than 0 and a unit in quotes: ms, s, m or h
conf/p.toml:4:35: defaults.limits.memory: expected a size, such as "64MiB", found "64MB"
  help: write a whole number greater than 0 and a unit in quotes: B, KiB, MiB or GiB
conf/p.toml:8:8: components.notes.grants.http: expected `env` or `files`, found `http`, which is not available in this version
  help: remove it; the component gets no such access
conf/p.toml:9:44: components.notes.grants.files[0].guest: expected an absolute path of the guest, such as "/data", found "data"
  help: start with `/`, leave out `.`, `..`, empty parts and a slash at the end
conf/p.toml:9:61: components.notes.grants.files[0].access: expected "read-only" or "read-write", found "rw"
  help: write one of these words
conf/p.toml:10:7: components.notes.tools.wirte: expected a tool that `expose` names, found `wirte`
  help: add it to `expose`, or remove this entry
conf/p.toml:13:13: run.max_turns: expected a whole number from 1 to 4294967295, or "unlimited", found the integer 0
  help: 0 is no bound here; write "unlimited" if that is meant
conf/p.toml:14:12: run.max_time: expected a duration, such as "10s", found "10 minutes"
  help: write a whole number greater than 0 and a unit in quotes: ms, s, m or h"#;
    assert_eq!(PolicyFile::parse(text, "conf/p.toml").unwrap_err().to_string(), expected);
}

#[test]
fn broken_toml_is_reported_with_its_place_and_does_not_hide_unknown_keys() {
    let text = "version = 1\nversion = 1\n[run\n[rum]\nmax_time = \"1\nmodel = x\n";
    let expected = "policy file `p.toml` is refused, it has 5 problems
p.toml:2:1: expected valid TOML, found duplicate key
  help: each key and table may be written once; put both into one place
p.toml:3:5: expected `]`, found unclosed table
  help: see the syntax at https://toml.io
p.toml:4:2: rum: expected `compile`, `components`, `defaults`, `run` or `version`, found the unknown key `rum`
  help: did you mean `run`?
p.toml:5:14: expected `\"`, found invalid basic string
  help: see the syntax at https://toml.io
p.toml:6:9: expected literal string, found string values must be quoted
  help: put the text in double quotes";
    assert_eq!(PolicyFile::parse(text, "p.toml").unwrap_err().to_string(), expected);
}

#[test]
fn the_version_is_required_and_is_one() {
    for (text, found) in [
        ("", "version: expected the key `version`, found none"),
        ("version = 2", "version: expected version 1, the only one there is, found the integer 2"),
        ("version = \"1\"", "version: expected the integer 1, found \"1\""),
    ] {
        let errors = PolicyFile::parse(text, "p.toml").unwrap_err().to_string();
        assert!(errors.contains(found), "{errors}");
    }
}

#[test]
fn keys_nobody_reads_are_refused_at_every_level() {
    check(
        "compnents = {}",
        "compnents: `compile`, `components`, `defaults`, `run` or `version`, found the unknown key `compnents`",
    );
    check(
        "[defaults.limits]\nfule = 1",
        "defaults.limits.fule: `fuel`, `memory`, `result`, `table_elements` or `timeout`, found the unknown key `fule`",
    );
    check(
        "[components.\"a b\"]\nsrc = \"x\"",
        "components.\"a b\".src: `digest`, `expose`, `grants`, `limits`, `permission`, `prefix`, `rename`, \
         `source` or `tools`, found the unknown key `src`",
    );
    check(
        "[components.a.tools.t]\npermissions = \"ask\"",
        "components.a.tools.t.permissions: `fuel`, `memory`, `permission`, `result`, `table_elements` or \
         `timeout`, found the unknown key `permissions`",
    );
    check(
        "[[components.a.grants.files]]\nhost = \"x\"\nguest = \"/x\"\nacces = \"read-only\"",
        "components.a.grants.files[0].acces: `access`, `guest` or `host`, found the unknown key `acces`",
    );
    check("[compile]\nisolated = true", "compile.isolated: `isolation`, found the unknown key `isolated`");
    check(
        "compile.isolation = \"always\"",
        "compile.isolation: \"best-effort\" or \"required\", found \"always\"",
    );
    check(
        "run.max_steps = 3",
        "run.max_steps: `attach`, `max_time`, `max_tool_calls`, `max_turns`, `model`, `output_schema` or `strict`, found the unknown key `max_steps`",
    );
}

#[test]
fn grants_of_a_later_version_are_refused_by_name() {
    for kind in ["http", "secrets", "state"] {
        check(
            &format!("[components.a]\ngrants.{kind} = []"),
            &format!(
                "components.a.grants.{kind}: `env` or `files`, found `{kind}`, which is not available in this version"
            ),
        );
    }
    check(
        "[components.a]\nsource = \"oci://host/a@sha256:0\"",
        "components.a.source: the path of a component, such as \"tools/notes.wasm\", found \"oci://host/a@sha256:0\"",
    );
}

#[test]
fn names_that_models_see_are_legal_and_differ() {
    check(
        "[components.a]\nrename = { x = \"list\", y = \"list\" }",
        "components.a.rename: a name of its own for each tool, found `list` for both `x` and `y`",
    );
    check(
        "[components.a]\nexpose = [\"x\", \"list\"]\nrename = { x = \"list\" }",
        "components.a.rename: a name of its own for each tool, found `list` for both `list` and `x`",
    );
    check("[components.a]\nexpose = [\"x\", \"x\"]", "components.a.expose[1]: each tool once, found \"x\"");
    check(
        "[components.a]\nprefix = \"a.\"",
        "components.a.prefix: a prefix of 1 to 63 letters a-z and A-Z, digits, `_` and `-`, found \"a.\"",
    );
    let long = "p".repeat(60);
    check(
        &format!("[components.a]\nexpose = [\"list\", \"write\"]\nprefix = \"{long}\""),
        &format!("components.a.prefix: a prefix that leaves every name legal, found \"{long}\""),
    );
    check(
        "[components.a]\nrename = { x = \"a b\" }",
        "components.a.rename.x: a tool name of 1 to 64 letters a-z and A-Z, digits, `_` and `-`, found \"a b\"",
    );
    check(
        "[components.a]\ntools.\"a b\" = {}",
        "components.a.tools.\"a b\": a tool name of 1 to 64 letters a-z and A-Z, digits, `_` and `-`, found `a b`",
    );
}

#[test]
fn files_and_flags_of_a_run_are_what_they_are_called() {
    for (line, expected) in [
        ("run.strict = \"yes\"", "run.strict: true or false, found \"yes\""),
        (
            "run.output_schema = \"\"",
            "run.output_schema: the path of a file with a JSON Schema, such as \"answer.json\", found \"\"",
        ),
        ("run.attach = \"a.png\"", "run.attach: a list of files, such as [\"chart.png\"], found \"a.png\""),
        ("run.attach = [3]", "run.attach[0]: the path of a file, such as \"chart.png\", found the integer 3"),
    ] {
        check(line, expected);
    }
}

#[test]
fn values_of_the_wrong_kind_or_range_are_refused() {
    let count = "a whole number from 1 to";
    for (line, expected) in [
        ("defaults = 1", "defaults: a table with `limits` or `permission`, found the integer 1"),
        (
            "components = []",
            "components: a table of components, such as `[components.notes]`, found an array",
        ),
        (
            "defaults.permission = true",
            "defaults.permission: \"allow\", \"ask\", \"auto\" or \"deny\", found true",
        ),
        (
            "defaults.limits.timeout = \"0s\"",
            "defaults.limits.timeout: a duration, such as \"10s\", found \"0s\"",
        ),
        (
            "defaults.limits.fuel = 0",
            &format!("defaults.limits.fuel: {count} 9223372036854775807, found the integer 0"),
        ),
        (
            "defaults.limits.fuel = 1.5",
            &format!("defaults.limits.fuel: {count} 9223372036854775807, found the number 1.5"),
        ),
        (
            "defaults.limits.table_elements = 4294967296",
            &format!("defaults.limits.table_elements: {count} 4294967295, found the integer 4294967296"),
        ),
        (
            "run.max_turns = -1",
            &format!("run.max_turns: {count} 4294967295, or \"unlimited\", found the integer -1"),
        ),
        ("run.max_time = 2026-11-30", "run.max_time: a duration, such as \"10s\", found the time 2026-11-30"),
        (
            "run.model = \" \"",
            "run.model: a model, such as \"openai/gpt-4.1\" or \"script:FILE\", found \" \"",
        ),
        (
            "components.a.digest = \"sha256:00\"",
            "components.a.digest: \"sha256:\" and 64 hexadecimal digits, found \"sha256:00\"",
        ),
        ("components.a.grants.env = { A = 1 }", "components.a.grants.env.A: a string, found the integer 1"),
        (
            "components.a.grants.env = { \"A=\" = \"1\" }",
            "components.a.grants.env.\"A=\": a variable, found a name or value that no environment can hold",
        ),
        (
            "components.a.grants.files = [{ host = \"x\", guest = \"/x\" }, { host = \"y\", guest = \"/x\" }]",
            "components.a.grants.files[1].guest: a guest path that is not granted already, found \"/x\"",
        ),
        (
            "components.a.grants.files = [{ guest = \"/x\" }]",
            "components.a.grants.files[0].host: the key `host`, found none",
        ),
        (
            "components.a.grants.files = [\"./data:/data:ro\"]",
            "components.a.grants.files[0]: a table with `access`, `guest` or `host`, found \"./data:/data:ro\"",
        ),
        (
            "components.\"\" = {}",
            "components.\"\": a component name of 1 to 256 bytes without control characters, found ``",
        ),
    ] {
        check(line, expected);
    }
}

#[test]
fn what_the_file_says_cannot_steer_a_terminal() {
    let text = "version = 1\n\"\\u001B[2J\" = 1\n[components.\"\\u202E\"]\nsource = \"\\u0000\"\n";
    let errors = PolicyFile::parse(text, "p\u{1b}.toml").unwrap_err();
    assert_eq!(errors.problems().len(), 3, "{errors}");
    let text = errors.to_string();
    assert!(!text.chars().any(|c| c != '\n' && crate::text::steers(c)), "{text}");
    assert!(text.contains("the unknown key `\\u{1b}[2J`") && text.starts_with("policy file `p\\u{1b}.toml`"));
}

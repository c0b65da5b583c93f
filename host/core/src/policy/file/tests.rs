use std::num::NonZeroU32;
use std::time::Duration;

use super::*;
use crate::grant::{Access, FileGrant, Grants};
use crate::ids::{Digest, ToolName};
use crate::limits::LimitOverrides;
use crate::policy::{Bound, CompilePolicy, ComponentPolicy, Isolation, Permission, RunPolicy, ToolPolicy};

mod allowing;
mod hostile;
mod refusals;

#[test]
fn a_whole_file_reads_to_the_values_that_are_written() {
    let digest = Digest::of(b"notes");
    let text = format!(
        r#"
version = 1

[defaults]
permission = "ask"
limits = {{ timeout = "10s", memory = "64MiB", fuel = 1_000_000_000_000, table_elements = 200_000, result = "2MiB" }}

[components.notes]
source = "tools/notes.wasm"
digest = "{digest}"
expose = ["list", "read", "write"]
prefix = "n_"
rename = {{ read = "open" }}
permission = "auto"
limits = {{ memory = "1GiB" }}
grants.files = [{{ host = "./data", guest = "/data", access = "read-write" }}, {{ host = "/srv", guest = "/srv" }}]
grants.env = {{ LANG = "C" }}
tools.list = {{ permission = "allow" }}
tools.write = {{ permission = "deny", timeout = "500ms", fuel = 0x10 }}

[run]
model = "openai/gpt-4.1"
max_turns = "unlimited"
max_tool_calls = 7
max_time = "10m"
strict = true
output_schema = "answer.json"
attach = ["a.png", "/b.pdf"]

[compile]
isolation = "required"
"#
    );
    let policy = PolicyFile::parse(&text, "p.toml").unwrap();
    let expected = Policy {
        defaults: DefaultPolicy {
            permission: Some(Permission::Ask),
            limits: LimitOverrides {
                timeout: Some(Duration::from_secs(10)),
                memory_bytes: Some(64 << 20),
                fuel: Some(1_000_000_000_000),
                table_elements: Some(200_000),
                result_bytes: Some(2 << 20),
            },
        },
        components: [("notes".into(), notes(digest))].into(),
        run: RunPolicy {
            model: Some("openai/gpt-4.1".into()),
            max_turns: Some(Bound::Unlimited),
            max_tool_calls: Some(Bound::AtMost(NonZeroU32::new(7).unwrap())),
            max_time: Some(Duration::from_secs(600)),
            strict: Some(true),
            output_schema: Some("answer.json".into()),
            attach: vec!["a.png".into(), "/b.pdf".into()],
        },
        compile: CompilePolicy { isolation: Isolation::Required },
    };
    assert_eq!(policy, expected);
}

fn notes(digest: Digest) -> ComponentPolicy {
    ComponentPolicy {
        source: Some("tools/notes.wasm".into()),
        digest: Some(digest),
        expose: Some(vec!["list".into(), "read".into(), "write".into()]),
        prefix: Some("n_".into()),
        rename: [("read".into(), ToolName::parse("open").unwrap())].into(),
        grants: Grants {
            files: vec![
                FileGrant { host: "./data".into(), guest: "/data".into(), access: Access::ReadWrite },
                FileGrant { host: "/srv".into(), guest: "/srv".into(), access: Access::ReadOnly },
            ],
            env: [("LANG".into(), "C".into())].into(),
        },
        permission: Some(Permission::Auto),
        limits: LimitOverrides { memory_bytes: Some(1 << 30), ..LimitOverrides::default() },
        tools: [
            (
                "list".into(),
                ToolPolicy { permission: Some(Permission::Allow), limits: LimitOverrides::default() },
            ),
            (
                "write".into(),
                ToolPolicy {
                    permission: Some(Permission::Deny),
                    limits: LimitOverrides {
                        timeout: Some(Duration::from_millis(500)),
                        fuel: Some(16),
                        ..LimitOverrides::default()
                    },
                },
            ),
        ]
        .into(),
    }
}

#[test]
fn walls_around_the_compiler_are_required_only_where_that_is_written() {
    let isolation =
        |text: &str| PolicyFile::parse(&format!("version = 1\n{text}\n"), "p").unwrap().compile.isolation;
    assert_eq!(isolation(""), Isolation::BestEffort);
    assert_eq!(isolation("[compile]"), Isolation::BestEffort);
    assert_eq!(isolation("compile.isolation = \"best-effort\""), Isolation::BestEffort);
    assert_eq!(isolation("compile.isolation = \"required\""), Isolation::Required);
}

#[test]
fn the_same_policy_may_be_spelled_with_headers_dots_or_inline_tables() {
    let spellings = [
        "version = 1\n[components.a.tools.t]\npermission = \"deny\"\n[[components.a.grants.files]]\nhost = \"x\"\nguest = \"/x\"\n",
        "version = 1\ncomponents.a.tools.t.permission = \"deny\"\ncomponents.a.grants.files = [{ host = \"x\", guest = \"/x\" }]\n",
        "version = 1\r\n[components]\r\na = { tools = { t = { permission = \"deny\" } }, grants = { files = [{ host = \"x\", guest = \"/x\" }] } }\r\n",
    ];
    let policies: Vec<_> = spellings.iter().map(|text| PolicyFile::parse(text, "p").unwrap()).collect();
    assert_eq!(policies[0].permission(Some("a"), "t"), Permission::Deny);
    assert_eq!(policies[0].components["a"].grants.files.len(), 1);
    assert!(policies.iter().all(|policy| *policy == policies[0]));
}

#[test]
fn a_file_with_nothing_but_its_version_gives_nothing() {
    assert_eq!(PolicyFile::parse("version = 1", "p").unwrap(), Policy::default());
}

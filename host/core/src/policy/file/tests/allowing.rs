use super::*;

fn permission(text: &str, component: &str, tool: &str) -> Permission {
    PolicyFile::parse(text, "p.toml").unwrap().permission(Some(component), tool)
}

#[test]
fn the_allow_line_allows_the_tool_whatever_its_component_is_called() {
    for component in ["notes", "my notes", "a.b", "", "ü", "q\"uote\\", "line\nfeed", "'", "\u{202e}"] {
        let text = format!("version = 1\n{}\n", allow_line(component, "write"));
        match PolicyFile::parse(&text, "p.toml") {
            Ok(policy) => assert_eq!(policy.permission(Some(component), "write"), Permission::Allow),
            // The line is TOML with the right key even where the name itself is refused.
            Err(errors) => {
                assert_eq!(errors.problems().len(), 1, "{errors}");
                assert!(errors.problems()[0].expected.starts_with("a component name"), "{errors}");
            }
        }
    }
    assert_eq!(allow_line("a.b", "write"), r#"components."a.b".tools.write.permission = "allow""#);
}

#[test]
fn appended_lines_are_valid_at_the_end_of_a_file_with_other_tables() {
    let files = [
        "version = 1",
        "version = 1\n[components.notes]\nsource = \"n.wasm\"\ntools.list = { permission = \"ask\" }\n[run]\nmax_turns = 3\n",
        "version = 1\n[components.notes.tools.list]\npermission = \"deny\"\n[components.other]\n",
        "version = 1\ncomponents.notes.tools.list.permission = \"deny\"\n",
    ];
    for text in files {
        assert_ne!(permission(text, "notes", "write"), Permission::Allow);
        let AllowChange::Append(lines) = PolicyFile::allow_change(text, "notes", "write") else {
            panic!("{text}");
        };
        assert_eq!(lines, "[components.notes.tools.write]\npermission = \"allow\"\n");
        assert_eq!(permission(&format!("{text}\n{lines}"), "notes", "write"), Permission::Allow);
    }
}

#[test]
fn an_entry_in_the_way_is_named_with_its_line_and_the_setting_it_needs() {
    let cases = [
        (
            "version = 1\n[components.notes]\ntools.write = { timeout = \"1s\", permission = \"ask\" }\n",
            3,
            "permission",
        ),
        ("version = 1\n[components.notes]\n\ntools.write = { timeout = \"1s\" }\n", 4, "permission"),
        ("version = 1\n[components.notes.tools.write]\npermission = \"deny\"\n", 3, "permission"),
        ("version = 1\n[components]\nnotes = { source = \"n.wasm\" }\n", 3, "tools.write.permission"),
    ];
    for (text, line, key) in cases {
        let setting = format!("{key} = \"allow\"");
        let change = PolicyFile::allow_change(text, "notes", "write");
        assert_eq!(change, AllowChange::Set { line, setting: setting.clone() }, "{text}");
        // Doing what it says allows the tool.
        let mut lines: Vec<_> = text.lines().map(ToOwned::to_owned).collect();
        let edited = &mut lines[line - 1];
        *edited = match edited.as_str() {
            old if old.contains("permission") => {
                old.replace("permission = \"ask\"", &setting).replace("permission = \"deny\"", &setting)
            }
            old => old.replace(" }", &format!(", {setting} }}")),
        };
        assert_eq!(permission(&lines.join("\n"), "notes", "write"), Permission::Allow, "{lines:?}");
    }
}

#[test]
fn a_line_pasted_under_the_wrong_table_says_where_it_belongs() {
    let text = format!("version = 1\n[run]\n{}\n", allow_line("notes", "write"));
    let errors = PolicyFile::parse(&text, "p.toml").unwrap_err();
    assert_eq!(
        errors.problems()[0].help,
        "`components` belongs to the top of the file, and this line is in `run`; move it above the first table"
    );
}

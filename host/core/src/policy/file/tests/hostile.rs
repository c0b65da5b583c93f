use proptest::prelude::*;

use super::*;

/// Texts that are made of what policies are made of, so that most of them get past the lexer.
fn policy_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("version = 1\n"),
        Just("[components.a]\n"),
        Just("[components.\"\"]\n"),
        Just("[[components.a.grants.files]]\n"),
        Just("[run]\n"),
        Just("[defaults]\n"),
        Just("max_turns = 0\n"),
        Just("max_time = \"1s\"\n"),
        Just("limits = { timeout = \"1s\", fuel = -1 }\n"),
        Just("expose = [\"a\", \"a\", 1]\n"),
        Just("prefix = \"x\"\n"),
        Just("rename = { a = \"b\", c = \"b\" }\n"),
        Just("tools.a = { permission = \"ask\" }\n"),
        Just("grants.files = [{ host = \"a\", guest = \"/a\" }]\n"),
        Just("grants.env = { A = \"1\" }\n"),
        Just("{ [ \" = ."),
        Just("\u{feff}\u{0}é\r"),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in prop_oneof![any::<String>(), policy_like()]) {
        if let Err(errors) = PolicyFile::parse(&text, "p.toml") {
            prop_assert!(!errors.problems().is_empty());
            let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            for problem in errors.problems() {
                prop_assert!((1..=lines).contains(&problem.line), "{errors}");
                prop_assert!(!problem.expected.is_empty() && !problem.found.is_empty() && !problem.help.is_empty());
            }
            prop_assert!(!errors.to_string().chars().any(|c| c != '\n' && crate::text::steers(c)));
        }
        PolicyFile::allow_change(&text, "a", "a").to_string();
    }

    #[test]
    fn every_name_survives_its_quoting(component in any::<String>(), tool in any::<String>()) {
        let line = allow_line(&component, &tool);
        prop_assert_eq!(line.lines().count(), 1);
        let (root, errors) = DeTable::parse_recoverable(&line);
        prop_assert!(errors.is_empty(), "{line} {errors:?}");
        let component = root.get_ref()["components"].get_ref().get(component.as_str());
        prop_assert!(component.and_then(|it| it.get_ref().get("tools")?.get_ref().get(tool.as_str())).is_some());
    }
}

#[test]
fn a_text_beyond_the_cap_is_refused_unread() {
    let text = " ".repeat(MAX_POLICY_BYTES + 1);
    assert_eq!(
        PolicyFile::parse(&text, "p.toml").unwrap_err().to_string(),
        "policy file `p.toml` is refused, it has 1 problem\n\
         p.toml:1:1: expected at most 1048576 bytes, found 1048577 bytes\n  \
         help: check that this is the policy file; if it is, split it"
    );
    let longest = format!("version = 1{}", " ".repeat(MAX_POLICY_BYTES - 11));
    assert!(PolicyFile::parse(&longest, "p.toml").is_ok());
}

#[test]
fn deep_nesting_is_refused_and_never_overflows_the_stack() {
    let depth = 200_000;
    let texts = [
        format!("version = 1\n{}a = 1", "a.".repeat(depth)),
        format!("[{}a]", "a.".repeat(depth)),
        format!("a = {}", "[".repeat(depth)),
        format!("a = {}1{}", "[".repeat(depth), "]".repeat(depth)),
        format!("a = {}", "{ a = ".repeat(depth / 2)),
        format!("a = {}", "{ \n a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = ".repeat(20_000)),
        format!("[a.a.a.a.a.a.a.a]\n{}", "[a.a.a.a.a.a.a.a]\n".repeat(20_000)),
    ];
    for text in texts {
        assert!(PolicyFile::parse(&text, "p.toml").is_err());
        PolicyFile::allow_change(&text, "a", "a").to_string();
    }
}

#[test]
fn a_file_full_of_problems_gives_the_first_ones_and_a_count() {
    let text: String = std::iter::once("version = 1\n".to_owned())
        .chain((0..40_000).map(|index| format!("key_{index:05} = {index}\n")))
        .collect();
    let errors = PolicyFile::parse(&text, "p.toml").unwrap_err();
    assert_eq!((errors.problems().len(), errors.left_out()), (MAX_PROBLEMS, 40_000 - MAX_PROBLEMS));
    assert_eq!(errors.problems()[0].line, 2);
    let names: String = (0..100_000).map(|index| format!("\"t{index}\",")).collect();
    let text = format!("version = 1\n[components.a]\nexpose = [{names}]\ntools = {{ x = {{}} }}\n");
    assert_eq!(PolicyFile::parse(&text, "p.toml").unwrap_err().problems().len(), 1);
}

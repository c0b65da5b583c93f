//! Processes are started by the system and not by a copy of this one.
//!
//! A host process may hold a pool of memories of hundreds of gibibytes, and a fork copies the tables of all of it:
//! with 2 GiB of 128 GiB in use a start takes a third of a second instead of a fifth of a millisecond, and all
//! threads wait for the lock of the address space meanwhile. The standard library lets the system start a program
//! (`posix_spawn`) unless it has to run code in between, which is what the listed functions ask for.

use crate::tokens::{Kind, Source, Token, argument_count, matches_at};

/// Functions that copy this process, or that run code between the birth of a process and the start of its program.
const UNMISTAKABLE: [&str; 6] = ["pre_exec", "before_exec", "fork", "vfork", "kernel_fork", "create_pidfd"];

/// Methods of a command that do so too; with a value, because metadata of files have methods of these names without.
const SETTERS: [&str; 4] = ["uid", "gid", "groups", "chroot"];

/// Each place in code of the host that ships.
#[must_use]
pub fn violations(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let tokens = source.shipped();
        for (at, token) in tokens.iter().enumerate() {
            let Some(word) = token.word().filter(|_| is_use(&tokens, at)) else { continue };
            if UNMISTAKABLE.contains(&word) || (SETTERS.contains(&word) && sets(&tokens, at)) {
                found.push(format!(
                    "{}:{}: `{word}` starts a process by a copy of this one, with all of its mappings; \
                     let the started program do it as its first thing",
                    source.path, token.line
                ));
            }
        }
    }
    found
}

/// Whether a word stands behind a dot or a path, as a call or a value.
fn is_use(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    before.is_some_and(|token| matches!(token.kind, Kind::Sign('.' | ':')))
        || (matches_at(tokens, at + 1, &["("]) && !before.is_some_and(|token| token.is_word("fn")))
}

fn sets(tokens: &[Token], at: usize) -> bool {
    let method = at.checked_sub(1).is_some_and(|before| matches_at(tokens, before, &["."]));
    method && matches_at(tokens, at + 1, &["("]) && argument_count(tokens, at + 1) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        violations(&[Source::parse(path, text).unwrap()]).len()
    }

    #[test]
    fn what_copies_the_process_is_found() {
        for text in [
            "fn f() { unsafe { command.pre_exec(|| Ok(())) } }",
            "fn f() { CommandExt::pre_exec(&mut command, hook) }",
            "fn f() { unsafe { libc::fork() } }",
            "use libc::fork; fn f() { unsafe { fork() } }",
            "fn f() { command.uid(65534); }",
            "fn f() { command.arg(x).groups(&[]); }",
            "fn f() { command.chroot(folder) }",
        ] {
            assert!(found("host/compiler/src/x.rs", text) > 0, "{text}");
            assert_eq!(found("host/compiler/src/tests.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn other_things_of_these_names_are_not() {
        for text in [
            "fn f() { let owner = metadata.uid(); }",
            "fn f() { command.process_group(0).current_dir(folder).env_clear() }",
            "/// Never a fork.\nfn f() { let groups = 1; }",
            "fn fork() {}",
        ] {
            assert_eq!(found("host/compiler/src/x.rs", text), 0, "{text}");
        }
    }
}

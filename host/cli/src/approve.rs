//! Asking the person at the terminal before a tool runs.

use std::io::{self, BufRead as _, IsTerminal as _};

use futures::future::BoxFuture;
use hotcell::grant::Access;
use hotcell::text::{cap_chars, escape_control};
use hotcell::{ApprovalRequest, Approver, ApproverError, Component, Decision, Digest, Grants};

use crate::console::{note, note_part};

/// Characters of the arguments that are shown.
const ARGUMENT_CHARS: usize = 2_000;

/// What a person should know of a component when asked about one of its calls.
#[derive(Debug, Clone)]
struct Known {
    digest: Digest,
    name: String,
    grants: Grants,
}

/// Asks on the terminal, or says that nobody can be asked.
#[derive(Debug)]
pub(crate) struct AtTerminal {
    known: Vec<Known>,
    interactive: bool,
}

impl AtTerminal {
    /// Asks when both ends of the conversation are a terminal.
    pub(crate) fn new<'a>(components: impl IntoIterator<Item = &'a Component>) -> Self {
        let known = components.into_iter().map(|component| Known {
            digest: component.digest(),
            name: component.name().to_owned(),
            grants: component.grants().clone(),
        });
        Self { known: known.collect(), interactive: io::stdin().is_terminal() && io::stderr().is_terminal() }
    }

    fn question(&self, request: &ApprovalRequest) -> String {
        let mut lines = vec![format!("\napproval needed: {}", request.tool)];
        if let Some(digest) = request.component {
            let known = self.known.iter().find(|known| known.digest == digest);
            let name = known.map_or("?", |known| known.name.as_str());
            lines.push(format!("  component: {} {digest}", escape_control(name)));
            lines.extend(known.into_iter().flat_map(|known| reach(&known.grants)));
        }
        let arguments = request.arguments.to_string();
        let shown = cap_chars(&arguments, ARGUMENT_CHARS);
        let cut = if shown.len() < arguments.len() { "... (cut)" } else { "" };
        lines.push(format!("  arguments: {}{cut}", escape_control(&shown)));
        lines.push(format!("  to allow it always, write into the policy: {}", request.policy_line));
        lines.join("\n")
    }
}

/// What a component can touch, one line each.
fn reach(grants: &Grants) -> Vec<String> {
    let of_files = grants.files.iter().map(|files| {
        let access = match files.access {
            Access::ReadOnly => "can read",
            Access::ReadWrite => "can read and change",
        };
        format!(
            "  {access}: {} (as {})",
            escape_control(&files.host.to_string_lossy()),
            escape_control(&files.guest)
        )
    });
    of_files.collect()
}

impl Approver for AtTerminal {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Result<Decision, ApproverError>> {
        Box::pin(async move {
            if !self.interactive {
                note(format_args!(
                    "  not approved: {} needs an approval, and there is no terminal to ask at\n    help: this policy line allows it: {}",
                    request.tool, request.policy_line
                ));
                let reason =
                    format!("nobody can be asked here; this policy line allows it: {}", request.policy_line);
                return Ok(Decision::Deny(reason));
            }
            note(self.question(&request));
            loop {
                note_part("run it? [y/n] ");
                // The thread may wait for a line for ever; it is not waited for when the run ends before.
                let line = tokio::task::spawn_blocking(read_line).await;
                let line = line.map_err(|error| ApproverError(error.to_string()))?;
                match line.map_err(|error| ApproverError(format!("the terminal cannot be read: {error}")))? {
                    None => return Ok(Decision::Deny("nobody answered".into())),
                    Some(answer) => match answer.trim().to_ascii_lowercase().as_str() {
                        "y" | "yes" => return Ok(Decision::Approve),
                        "n" | "no" => return Ok(Decision::Deny("the user said no".into())),
                        _ => note("please answer y or n"),
                    },
                }
            }
        })
    }
}

/// One line; none at the end of input.
fn read_line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotcell::{CallId, Caller, ToolName, parse_grant};

    #[tokio::test]
    async fn the_question_shows_what_is_at_stake_and_escapes_it() {
        let digest = Digest::of(b"x");
        let mut grants = Grants::default();
        grants.add(parse_grant("files=./notes:/notes:rw").unwrap()).unwrap();
        let known = vec![Known { digest, name: "notes".into(), grants }];
        let approver = AtTerminal { known, interactive: false };
        let request = ApprovalRequest {
            caller: Caller::local(),
            call: CallId::parse("c").unwrap(),
            tool: ToolName::parse("write").unwrap(),
            component: Some(digest),
            definition: digest,
            arguments: serde_json::json!({"text": "\u{1b}[2J\u{202e}"}),
            policy_line: "components.notes.tools.write.permission = \"allow\"".into(),
        };
        let question = approver.question(&request);
        assert!(question.contains("can read and change: ./notes (as /notes)"), "{question}");
        assert!(question.contains("components.notes.tools.write"), "{question}");
        assert!(!question.contains(['\u{1b}', '\u{202e}']), "{question}");
        let decision = approver.decide(request).await.unwrap();
        assert!(
            matches!(decision, Decision::Deny(reason) if reason.contains("components.notes.tools.write"))
        );
    }
}

//! `hotcell policy check`: whether a policy file is right, and fits the components it names.

use hotcell::policy::file::{Place, PolicyErrors, Problem};
use hotcell::text::escape_control;
use hotcell::{Finding, PolicyError, Severity, check_policy, load_policy_with_places};
use serde::Serialize;

use crate::arguments::PolicyCheck;
use crate::console::{print, print_json};
use crate::ending::{Complaint, Exit};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Output {
    file: String,
    ok: bool,
    /// What is wrong; the policy is refused, or does not fit what it names.
    problems: Vec<Finding>,
    /// What is worth knowing.
    notes: Vec<Finding>,
    /// Problems beyond those that are listed.
    left_out: usize,
}

/// Checks the file.
pub(crate) fn run(command: &PolicyCheck) -> anyhow::Result<Exit> {
    let (findings, left_out) = match load_policy_with_places(&command.file) {
        Ok((policy, places)) => (check_policy(&policy, &places), 0),
        Err(PolicyError::Refused(errors)) if command.json => (refused(&errors), errors.left_out()),
        // The text form of these errors is the best one for people.
        Err(PolicyError::Refused(errors)) => {
            return Err(Complaint::failed("policy", errors.to_string()).into());
        }
        Err(error) => return Err(Complaint::from(error).into()),
    };
    let ok = findings.iter().all(|found| found.severity == Severity::Note);
    let exit = if ok { Exit::Done } else { Exit::Failed };
    let file = command.file.display().to_string();
    if command.json {
        let (problems, notes) = findings.into_iter().partition(|found| found.severity == Severity::Problem);
        print_json(&Output { file, ok, problems, notes, left_out })?;
        return Ok(exit);
    }
    let file = escape_control(&file);
    let lines = |severity| -> Vec<String> {
        let of_it = findings.iter().filter(|found| found.severity == severity);
        of_it.map(|found| describe(&file, found)).collect()
    };
    for note in lines(Severity::Note) {
        print(format_args!("note: {note}\n"))?;
    }
    if !ok {
        let problems = lines(Severity::Problem).join("\n");
        let message = format!("policy file `{file}` does not fit what it names\n{problems}");
        return Err(Complaint::failed("policy", message).into());
    }
    print(format_args!("{file}: good\n"))?;
    Ok(exit)
}

/// One finding as compilers write it: place, key, what is the case, and what to do.
fn describe(file: &str, found: &Finding) -> String {
    let place = found.place.map(|Place { line, column }| format!(":{line}:{column}")).unwrap_or_default();
    format!("{file}{place}: {}: {}\n  help: {}", found.key, found.message, found.help)
}

fn refused(errors: &PolicyErrors) -> Vec<Finding> {
    let finding = |problem: &Problem| Finding {
        severity: Severity::Problem,
        key: problem.path.clone(),
        place: Some(Place { line: problem.line, column: problem.column }),
        message: format!("expected {}, found {}", problem.expected, problem.found),
        help: problem.help.clone(),
    };
    errors.problems().iter().map(finding).collect()
}

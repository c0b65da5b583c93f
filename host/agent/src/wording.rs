//! The reports the host writes itself: one sentence of what happened, one of what to do.

use hotcell_core::call::CallReport;
use hotcell_core::outcome::Outcome;
use hotcell_core::text::{cap_chars, escape_control};

/// Longest piece of foreign text that a host message repeats, in characters.
const QUOTE_CHARS: usize = 300;

/// Foreign text as a host message may repeat it: capped, and nothing in it steers a terminal.
pub(crate) fn quote(text: &str) -> String {
    let short = cap_chars(text, QUOTE_CHARS);
    let dots = if short.len() < text.len() { "..." } else { "" };
    format!("{}{dots}", escape_control(&short))
}

/// A report with the host's words for it.
pub(crate) fn report(outcome: Outcome, message: impl Into<String>) -> CallReport {
    CallReport::new(outcome, message)
}

/// An approver said no.
pub(crate) fn denied_by_approver(name: &str, reason: &str) -> CallReport {
    let name = quote(name);
    let why = if reason.is_empty() { String::new() } else { format!(": {}", quote(reason)) };
    CallReport::new(Outcome::Denied, format!("`{name}` did not run: it was not approved{why}."))
        .with_advice("Do not repeat the call as it is; go on without it, or ask for something else.")
}

/// The run ended while middlewares had a result before them: how the call ended, without a word of the tool.
pub(crate) fn withheld(raw: &CallReport) -> CallReport {
    let text = "The tool ran; the run ended before its result was finished, so it is not shown.";
    let words =
        if raw.outcome.is_ok() { CallReport::text(text) } else { CallReport::new(raw.outcome, &raw.message) };
    CallReport {
        phase: raw.phase,
        advice: raw.advice.clone(),
        trap: raw.trap,
        budget: raw.budget,
        usage: raw.usage.clone(),
        ..words
    }
}

/// An approver changed the arguments; the model is told what ran.
pub(crate) fn edited(arguments: &str) -> String {
    format!("note: an approver changed the arguments of this call to {}", quote(arguments))
}

/// The model repeats itself.
pub(crate) fn repeats(period: u32, laps: u32) -> String {
    let what = if period == 1 {
        format!("this call was made {laps} times")
    } else {
        format!("the last {period} calls were made {laps} times")
    };
    format!(
        "note: {what} with the same arguments and the same results. Calling again will not change that: \
         change the approach, or say what blocks you."
    )
}

/// A reply was cut in the middle of its text.
pub(crate) const GO_ON: &str = "Your reply was cut off at its token limit. Go on exactly where it stopped; \
    do not repeat what you have said and do not comment on the cut.";

/// A reply was cut before it said anything.
pub(crate) const CUT_BEFORE_IT_BEGAN: &str =
    "Your reply was cut off at its token limit before it said anything. Answer again, and be brief.";

/// A reply had neither text nor calls.
pub(crate) const SAY_SOMETHING: &str = "Your last reply was empty. Call a tool, or give your answer.";

/// An answer does not fit its schema.
pub(crate) fn repair(errors: &[String]) -> String {
    format!(
        "Your answer is not what was asked for: {}. Answer again with one JSON value that fits the schema, \
         and nothing around it.",
        errors.join("; ")
    )
}

/// Policy asks, and nobody can be asked.
pub(crate) fn nobody_to_ask(name: &str, policy_line: &str) -> CallReport {
    let message = format!("`{name}` did not run: it needs an approval, and nobody can be asked here.");
    CallReport::new(Outcome::Denied, message).with_advice(allowing(policy_line))
}

/// An approver left a decision for later where nothing can wait for it.
pub(crate) fn left_for_later(name: &str) -> CallReport {
    let message = format!("`{name}` did not run: the decision about it was left for later.");
    CallReport::new(Outcome::ApprovalRequired, message).with_advice("Call again once it has been decided.")
}

/// Policy says no.
pub(crate) fn denied_by_policy(name: &str, policy_line: &str) -> CallReport {
    let message = format!("`{name}` did not run: the policy denies it.");
    CallReport::new(Outcome::Denied, message).with_advice(allowing(policy_line))
}

/// An approval was given for something else.
pub(crate) fn approval_does_not_fit(name: &str) -> CallReport {
    let message = format!(
        "`{name}` did not run: it was approved with another definition or other arguments than it has now."
    );
    CallReport::new(Outcome::Denied, message).with_advice("Ask for a new approval.")
}

fn allowing(policy_line: &str) -> String {
    format!("Go on without it; the operator can allow it with this policy line: {policy_line}")
}

/// No tool of this name is offered.
pub(crate) fn unknown_tool(name: &str, close: &[&str]) -> CallReport {
    let message = format!("no tool is named `{}`.", quote(name));
    let advice = if close.is_empty() {
        "Call one of the tools that are offered, by its exact name.".to_owned()
    } else {
        format!("Did you mean {}? Use the exact name.", list(close))
    };
    CallReport::new(Outcome::UnknownTool, message).with_advice(advice)
}

fn list(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" or ")
}

/// The time was up before the call could begin.
pub(crate) fn no_time_left() -> CallReport {
    CallReport::new(Outcome::Deadline, "The tool did not run: no time was left for it.")
}

/// The caller gave up between two tries of a call.
pub(crate) fn cancelled_between_tries(tries: u32) -> CallReport {
    let message = format!("The call was cancelled before its next try; it had failed {tries} times.");
    CallReport::new(Outcome::Cancelled, message)
}

/// The caller's budget of calls is used up.
pub(crate) fn no_calls_left() -> CallReport {
    CallReport::new(Outcome::Quota, "The tool did not run: the caller has no tool calls left.")
        .with_advice("Give an answer from what is known so far.")
}

/// What every outcome says when whoever reported it said nothing.
pub(crate) const fn default_message(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "",
        Outcome::ToolError => "The tool says that it failed.",
        Outcome::Trap => "The tool crashed.",
        Outcome::Deadline => "The tool took longer than its time limit and was stopped.",
        Outcome::Fuel => "The tool used up its computation budget and was stopped.",
        Outcome::MemoryLimit => "The tool needed more memory than its limit.",
        Outcome::ResourceLimit => "The tool used up one of its resources and was stopped.",
        Outcome::ResultTooLarge => "The result of the tool is larger than its limit.",
        Outcome::InvalidResult => "The result of the tool is not what the tool promised.",
        Outcome::Denied => "The tool did not run: it is not allowed.",
        Outcome::Cancelled => "The call was cancelled.",
        Outcome::Internal => "A fault of the host ended the call.",
        Outcome::InvalidArgs => "The arguments do not match the input schema; the tool did not run.",
        Outcome::UnknownTool => "No such tool is offered.",
        Outcome::ApprovalRequired => "The tool did not run: an approval is needed first.",
        Outcome::Quota => "The tool did not run: a budget of the caller is used up.",
        Outcome::Overloaded => "The tool did not run: the host takes no more calls at present.",
        _ => "The call failed.",
    }
}

/// What to do about every outcome when whoever reported it gave no advice.
pub(crate) const fn default_advice(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "",
        Outcome::ToolError => "Read what the tool says, then change the arguments or go on without it.",
        Outcome::Trap => "The same call will crash again; change the arguments or use another tool.",
        Outcome::Deadline => "Ask for less at a time, or go on without this tool.",
        Outcome::Fuel => "Ask for less work in one call.",
        Outcome::MemoryLimit => "Ask for less data in one call.",
        Outcome::ResourceLimit => "Ask for less in one call.",
        Outcome::ResultTooLarge => "Ask for a smaller part of the result.",
        Outcome::InvalidResult => "The tool is faulty for these arguments; use another way.",
        Outcome::Denied | Outcome::ApprovalRequired => "Go on without it, or ask the user to allow it.",
        Outcome::Cancelled => "The effect of the call is not known; look before calling again.",
        Outcome::Internal => "Try once more; if it fails again, go on without this tool.",
        Outcome::InvalidArgs => "Correct the arguments and call again.",
        Outcome::UnknownTool => "Call one of the tools that are offered, by its exact name.",
        Outcome::Quota => "Give an answer from what is known so far.",
        Outcome::Overloaded => "Try again a little later.",
        _ => "Go on without this tool.",
    }
}

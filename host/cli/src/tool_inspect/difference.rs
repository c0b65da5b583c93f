//! How one version of a component differs from another, as people read it.

use std::path::Path;

use hotcell::text::escape_control;
use hotcell::units::format_bytes;
use hotcell::{
    ComponentError, Difference, Inspection, SchemaChange, SchemaEffect, SchemaPlaces, ToolChange,
    ToolsDifference, difference, inspect,
};
use serde::Serialize;

use super::view::Page;
use crate::arguments::ToolInspect;
use crate::component_source;
use crate::console::{print, print_json};
use crate::ending::{Complaint, Exit};
use crate::report::shortened;

/// Characters of a place in a schema that are shown.
const PLACE_CHARS: usize = 160;

/// Characters of a description that are shown.
const DESCRIPTION_CHARS: usize = 400;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Output {
    files: [String; 2],
    #[serde(flatten)]
    difference: Difference,
}

/// Shows the difference; that there is one is no failure.
pub(super) fn run(command: &ToolInspect, newer: &Path) -> anyhow::Result<Exit> {
    let difference = difference(&look(&command.file)?, &look(newer)?);
    let files = [command.file.as_path(), newer].map(|file| file.display().to_string());
    if command.json {
        print_json(&Output { files, difference })?;
    } else {
        print(describe(&files, &difference))?;
    }
    Ok(Exit::Done)
}

fn look(file: &Path) -> Result<Inspection, Complaint> {
    let bytes = component_source::read(file)?;
    inspect(&bytes)
        .map_err(|source| ComponentError::Component { name: file.display().to_string(), source }.into())
}

fn describe([old, new]: &[String; 2], difference: &Difference) -> String {
    let mut page = Page::default();
    page.line(format_args!("{} -> {}", escape_control(old), escape_control(new)));
    if difference.same_bytes {
        page.line(format_args!("the same bytes: {}", difference.digests[0]));
        return page.text();
    }
    page.line(format_args!("digest: {} -> {}", difference.digests[0], difference.digests[1]));
    let [before, after] = difference.bytes.map(format_bytes);
    page.line(format_args!("size: {before} -> {after}"));
    reach(&mut page, difference);
    match &difference.tools {
        None => page.line(
            "\ntools: not compared, because they are not embedded in both\n  help: `hotcell tool build` embeds them",
        ),
        Some(found) => tools(&mut page, found),
    }
    if !difference.same_producers {
        page.line("\nmade by other tools or other versions of them, as both say themselves");
    }
    page.text()
}

/// Growth comes first, because it is what an operator has to agree to.
fn reach(page: &mut Page, difference: &Difference) {
    if difference.reach_gained.is_empty() {
        page.line("\nreach: nothing more than before");
    } else {
        page.line("\nREACH GROWS. Whatever is granted, the new version in addition:");
    }
    for gained in &difference.reach_gained {
        page.line(format_args!("  + {}", gained.text));
    }
    for lost in &difference.reach_lost {
        page.line(format_args!("  - no longer: {}", lost.text));
    }
    for need in &difference.needs {
        let sign = if need.new > need.old { '+' } else { '-' };
        let (what, shown): (&str, fn(u64) -> String) = match need.what {
            "memory_bytes" => ("memory at the start", format_bytes),
            "start_functions" => ("functions that run before any call", |count| count.to_string()),
            _ => ("table elements at the start", |count| count.to_string()),
        };
        page.line(format_args!("  {sign} {what}: {} -> {}", shown(need.old), shown(need.new)));
    }
    for name in &difference.imports_added {
        page.line(format_args!("  + imports {}", escape_control(name)));
    }
    for name in &difference.imports_removed {
        page.line(format_args!("  - imports {}", escape_control(name)));
    }
}

fn tools(page: &mut Page, found: &ToolsDifference) {
    if *found == ToolsDifference::default() {
        page.line("\ntools: the same definitions");
        return;
    }
    page.line("\ntools:");
    for tool in &found.added {
        page.line(format_args!("  + {tool}"));
    }
    for tool in &found.removed {
        page.line(format_args!("  - {tool}"));
    }
    for change in &found.changed {
        tool(page, change);
    }
}

fn tool(page: &mut Page, change: &ToolChange) {
    page.line(format_args!("  {} is changed:", change.tool));
    if let Some([old, new]) = &change.description {
        page.line(format_args!("      description was: {}", shortened(old, DESCRIPTION_CHARS)));
        page.line(format_args!("      description is:  {}", shortened(new, DESCRIPTION_CHARS)));
    }
    if change.hints {
        page.line("      claims other things of itself");
    }
    for name in &change.newly_required {
        page.line(format_args!("      argument {} has to be given now", escape_control(name)));
    }
    for name in &change.no_longer_required {
        page.line(format_args!("      argument {} may be left out now", escape_control(name)));
    }
    places(page, "arguments", &change.input);
    places(page, "result", &change.output);
    if !change.others.is_empty() {
        page.line(format_args!("      also changed: {}", change.others.join(", ")));
    }
}

fn places(page: &mut Page, what: &str, found: &SchemaPlaces) {
    for place in &found.places {
        let how = match place.how {
            SchemaChange::Added => "new",
            SchemaChange::Removed => "gone",
            SchemaChange::Changed => "changed",
        };
        let effect = match place.effect {
            Some(SchemaEffect::Widened) => ", takes more now",
            Some(SchemaEffect::Narrowed) => ", takes less now",
            None => "",
        };
        let at =
            if place.at.is_empty() { "as a whole".to_owned() } else { shortened(&place.at, PLACE_CHARS) };
        page.line(format_args!("      schema of the {what}, {at}: {how}{effect}"));
    }
    if found.left_out > 0 {
        page.line(format_args!("      and at {} more places", found.left_out));
    }
}

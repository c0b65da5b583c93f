//! Which `--grant` is for which `--tool`: their order on the command line says it.

use clap::ArgMatches;
use hotcell::Grant;

use crate::ending::Complaint;

/// The grants of a command line, by tool.
#[derive(Debug, PartialEq)]
pub(super) struct ByTool {
    for_all: Vec<Grant>,
    for_each: Vec<Vec<Grant>>,
}

impl ByTool {
    /// The grants of the tool at this place.
    pub(super) fn of(&self, tool: usize) -> Vec<Grant> {
        let own = self.for_each.get(tool).into_iter().flatten();
        self.for_all.iter().chain(own).cloned().collect()
    }
}

/// Reads the order from what was typed.
pub(super) fn by_tool(matches: &ArgMatches, grants: &[Grant]) -> Result<ByTool, Complaint> {
    let places = |name: &str| matches.indices_of(name).map(Iterator::collect).unwrap_or_default();
    let (tools, places): (Vec<usize>, Vec<usize>) = (places("tools"), places("grants"));
    if tools.is_empty() && !grants.is_empty() {
        return Err(Complaint::usage("--grant is given, and no --tool to give it to")
            .help("name the component with --tool, or write the grant into its policy entry"));
    }
    Ok(order(&tools, places.into_iter().zip(grants.iter().cloned())))
}

/// A grant in front of the first tool is for all of them, one behind a tool for that one.
fn order(tools: &[usize], grants: impl Iterator<Item = (usize, Grant)>) -> ByTool {
    let mut by_tool = ByTool { for_all: Vec::new(), for_each: vec![Vec::new(); tools.len()] };
    for (place, grant) in grants {
        let before = tools.iter().filter(|tool| **tool < place).count();
        match before.checked_sub(1).and_then(|tool| by_tool.for_each.get_mut(tool)) {
            Some(own) => own.push(grant),
            None => by_tool.for_all.push(grant),
        }
    }
    by_tool
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotcell::parse_grant;

    #[test]
    fn order_says_whose_a_grant_is() {
        let grant = |text: &str| parse_grant(text).unwrap();
        let (all, a, b) = (grant("env=ALL=1"), grant("env=A=1"), grant("env=B=1"));
        let grants = vec![(2, all.clone()), (6, a.clone()), (10, b.clone())];
        let by_tool = order(&[4, 8], grants.into_iter());
        assert_eq!(by_tool.of(0), [all.clone(), a]);
        assert_eq!(by_tool.of(1), [all, b]);
    }
}

//! Which tool a name means.

use std::collections::BTreeMap;

use hotcell_core::ids::ToolName;
use hotcell_core::text::cap_chars;

/// Least likeness, from 0 to 1, of a name that is suggested for one that does not exist.
const LIKENESS: f64 = 0.85;

/// Most names that are suggested.
const MAX_SUGGESTIONS: usize = 3;

/// What some vendors and models put in front of names.
const PREFIXES: [&str; 3] = ["functions.", "tools.", "default_api:"];

/// Longest name, in bytes, that can be taken for that of a tool: one of 64 characters with a prefix and
/// signs between its letters.
const LONGEST: usize = 160;

/// The names of a set of tools.
#[derive(Clone, Default)]
pub(super) struct Names {
    exact: BTreeMap<ToolName, usize>,
    /// By what is left of a name without case and signs; nothing where two tools share it.
    plain: BTreeMap<String, Option<usize>>,
}

impl Names {
    /// Adds the name of the tool at this place; says whether it is the first of this name.
    pub(super) fn insert(&mut self, name: &ToolName, place: usize) -> bool {
        if self.exact.contains_key(name) {
            return false;
        }
        self.exact.insert(name.clone(), place);
        self.plain.entry(plain(name.as_str())).and_modify(|known| *known = None).or_insert(Some(place));
        true
    }

    pub(super) fn contains(&self, name: &ToolName) -> bool {
        self.exact.contains_key(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.exact.keys().map(ToolName::as_str)
    }

    /// The tool of exactly this name.
    pub(super) fn exact(&self, name: &str) -> Option<usize> {
        // A text that is no tool name is the name of no tool.
        self.exact.get(&ToolName::parse(name).ok()?).copied()
    }

    /// The only tool whose name is this one but for case, `-_. ` and one prefix that vendors add.
    ///
    /// Only letters of ASCII have a case here, so that no look-alike becomes the name of a tool.
    pub(super) fn repaired(&self, name: &str) -> Option<usize> {
        if name.len() > LONGEST {
            return None;
        }
        let lower = name.to_ascii_lowercase();
        let without = PREFIXES.iter().find_map(|prefix| lower.strip_prefix(prefix));
        let mut found = None;
        let candidates = [Some(lower.as_str()), without].into_iter().flatten().map(plain);
        for candidate in candidates.filter(|candidate| !candidate.is_empty()) {
            match self.plain.get(&candidate) {
                None => {}
                Some(Some(place)) if found.is_none_or(|other| other == *place) => found = Some(*place),
                Some(_) => return None,
            }
        }
        found
    }

    /// Names that are close to one that does not exist, the closest first.
    pub(super) fn close_to(&self, name: &str) -> Vec<&str> {
        let wanted = plain(&cap_chars(name, 64));
        let mut close: Vec<(f64, &str)> = self
            .iter()
            .map(|known| (strsim::jaro_winkler(&plain(known), &wanted), known))
            .filter(|(likeness, _)| *likeness >= LIKENESS)
            .collect();
        close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        close.into_iter().take(MAX_SUGGESTIONS).map(|(_, known)| known).collect()
    }
}

/// A name without what models get wrong: case, and the signs between words.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | '.' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

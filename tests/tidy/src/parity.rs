//! The table of promises and the tests behind it say the same.
//!
//! `docs/parity.md` has a row for each id of the contract. The doc comment of a test, a line such as
//! `/// P-11, H-23.`, says which rows it proves; the row names the test in return.
//! A row without a test is a `statement` (it promises no behaviour), `later: NAME` of the work that
//! brings it, or `open`.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::{Kind, Source, Token, after_group, matches_at};

/// Where the table is.
pub const TABLE: &str = "docs/parity.md";

/// Work that comes later and may be named in a row.
const LATER: [&str; 3] = ["Models", "Working agents", "Durable"];

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The id, such as `P-11`.
    pub id: String,
    /// The line, from 1.
    pub line: usize,
    /// What stands behind it.
    pub proof: Proof,
}

/// What stands behind a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// These tests.
    Tests(BTreeSet<String>),
    /// Nothing: no behaviour is promised.
    Statement,
    /// Work that comes later.
    Later(String),
    /// It is not built yet.
    Open,
}

/// Every id of the contract: the list is complete, and an id is never used again.
#[must_use]
pub fn ids() -> BTreeSet<String> {
    let first = (1..=68).map(|number| format!("P-{number:02}"));
    let second = (1..=54).chain([60, 61, 70]).map(|number| format!("H-{number:02}"));
    first.chain(second).collect()
}

/// The rows of the table: lines that start with `| P-` or `| H-`.
///
/// # Errors
/// One line for each row that cannot be read.
pub fn rows(text: &str) -> Result<Vec<Row>, Vec<String>> {
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        if !(content.starts_with("| P-") || content.starts_with("| H-")) {
            continue;
        }
        match row(content) {
            Ok((id, proof)) => rows.push(Row { id, line, proof }),
            Err(what) => wrong.push(format!("{TABLE}:{line}: {what}")),
        }
    }
    if wrong.is_empty() { Ok(rows) } else { Err(wrong) }
}

fn row(content: &str) -> Result<(String, Proof), String> {
    let cells: Vec<&str> = content.split('|').map(str::trim).collect();
    let [_, id, behaviour, place, proof, _why, _] = cells.as_slice() else {
        return Err(format!("expected 5 cells (id, promise, where, proof, why), found {}", cells.len() - 2));
    };
    if behaviour.is_empty() || place.is_empty() {
        return Err(format!("{id}: expected what is promised and where it lives"));
    }
    let proof = match *proof {
        "statement" => Proof::Statement,
        "open" => Proof::Open,
        other => match other.strip_prefix("later: ") {
            Some(work) if LATER.contains(&work) => Proof::Later(work.to_owned()),
            Some(work) => {
                return Err(format!("{id}: `{work}` is no later work, expected {}", LATER.join(", ")));
            }
            None => Proof::Tests(test_list(id, other)?),
        },
    };
    Ok(((*id).to_owned(), proof))
}

fn test_list(id: &str, cell: &str) -> Result<BTreeSet<String>, String> {
    let name = |part: &str| {
        let name = part.trim().strip_prefix('`')?.strip_suffix('`')?;
        (!name.is_empty()).then(|| name.to_owned())
    };
    cell.split(',').map(name).collect::<Option<_>>().ok_or_else(|| {
        format!("{id}: expected `test`, `other_test` or statement, open, later: NAME, found `{cell}`")
    })
}

/// Which tests claim an id: id to names, read from the doc comments above tests.
#[must_use]
pub fn claims(sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let mut claims: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, ids) in sources.iter().flat_map(|source| tests(&source.tokens)) {
        for id in ids {
            claims.entry(id).or_default().insert(name.clone());
        }
    }
    claims
}

/// Every test with the ids of its doc comment: attributes in a row, one of them a test's, then a function.
fn tests(tokens: &[Token]) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let mut ids = Vec::new();
        let mut is_test = false;
        while matches_at(tokens, at, &["#", "["]) {
            let end = after_group(tokens, at + 1);
            is_test |= matches_at(tokens, at, &["#", "[", "test", "]"])
                || matches_at(tokens, at, &["#", "[", "tokio", ":", ":", "test"]);
            if matches_at(tokens, at, &["#", "[", "doc", "="])
                && let Some(Token { kind: Kind::Literal(text), .. }) = tokens.get(at + 4)
            {
                ids.extend(listed_ids(text));
            }
            at = end;
        }
        if is_test {
            let name = tokens.iter().skip(at).skip_while(|token| !token.is_word("fn")).nth(1);
            found.extend(name.and_then(Token::word).map(|name| (name.to_owned(), ids)));
        }
        at += 1;
    }
    found
}

/// The ids of a doc comment's line when it is a list of ids and nothing else.
fn listed_ids(literal: &str) -> Vec<String> {
    let text = literal.trim_start_matches('r').trim_matches(['#', '"']).trim();
    let is_id = |id: &str| {
        id.strip_prefix("P-")
            .or_else(|| id.strip_prefix("H-"))
            .is_some_and(|number| number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let ids: Vec<String> = text.trim_end_matches('.').split(", ").map(str::to_owned).collect();
    if ids.iter().all(|id| is_id(id)) { ids } else { Vec::new() }
}

/// Where the table, the contract and the tests disagree, one line each.
#[must_use]
pub fn violations(rows: &[Row], claims: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut found = Vec::new();
    let contract = ids();
    let mut seen = BTreeSet::new();
    for row in rows {
        let at = format!("{TABLE}:{}: {}", row.line, row.id);
        if !contract.contains(&row.id) {
            found.push(format!("{at} is no id of the contract"));
        }
        if !seen.insert(&row.id) {
            found.push(format!("{at} has a row already"));
        }
        let none = BTreeSet::new();
        let claimed = claims.get(&row.id).unwrap_or(&none);
        let named = if let Proof::Tests(named) = &row.proof { named } else { &none };
        found.extend(named.difference(claimed).map(|name| {
            format!("{at} names `{name}`; no test of that name has `{}` in its doc comment", row.id)
        }));
        found.extend(
            claimed
                .difference(named)
                .map(|name| format!("{at} is proved by `{name}`, which it does not name")),
        );
    }
    found.extend(
        contract.iter().filter(|id| !seen.contains(id)).map(|id| format!("{TABLE}: {id} has no row")),
    );
    found.extend(claims.iter().filter(|(id, _)| !contract.contains(*id)).map(|(id, tests)| {
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        format!("{id}, which {} claims, is no id of the contract", tests.join(", "))
    }));
    found
}

/// The ids of the rows that are not built yet.
#[must_use]
pub fn open(rows: &[Row]) -> Vec<&str> {
    rows.iter().filter(|row| row.proof == Proof::Open).map(|row| row.id.as_str()).collect()
}

/// The different tests that stand behind the rows.
#[must_use]
pub fn proofs(rows: &[Row]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for row in rows {
        match &row.proof {
            Proof::Tests(tests) => names.extend(tests.iter().map(String::as_str)),
            Proof::Statement | Proof::Later(_) | Proof::Open => {}
        }
    }
    names
}

#[cfg(test)]
mod tests;

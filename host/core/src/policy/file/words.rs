//! Words of the file in messages: hints, lists of what is known, keys and texts as TOML writes them.

use std::collections::BTreeSet;

/// Says which of the known words was probably meant, or what else to do.
pub(super) fn hint(word: &str, known: &[&str], otherwise: &str) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise.into(),
    }
}

fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // Each distance costs the product of both lengths; both sides come from the file.
    if word.len() > 64 || known.len() > 64 {
        return None;
    }
    let lower = word.to_lowercase().replace('-', "_");
    let distance = |known: &str| strsim::osa_distance(&lower, known);
    let best = known.iter().copied().filter(|known| known.len() <= 64).min_by_key(|known| distance(known))?;
    (distance(best) <= 1 + best.len() / 4).then_some(best)
}

/// The words as a phrase: `a`, `b` or `c`.
pub(super) fn one_of(words: &[&str], mark: char) -> String {
    let words: Vec<_> = words.iter().collect::<BTreeSet<_>>().into_iter().collect();
    let marked: Vec<_> = words.iter().map(|word| format!("{mark}{word}{mark}")).collect();
    match marked.split_last() {
        None => "nothing".into(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// The path with one more key.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = quote_key(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// The key as TOML writes it: bare where it can be, else in quotes.
pub(super) fn quote_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(bare) { key.into() } else { quote_text(key) }
}

/// The text as a basic TOML string, quotes included.
pub(super) fn quote_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if crate::text::steers(c) => {
                let escaped = format!("\\U{:08X}", u32::from(c));
                out.push_str(&escaped);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

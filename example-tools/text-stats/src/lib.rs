//! A pure tool: it computes from its arguments alone and needs no grant at all.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hotcell_tool::{Failure, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most words a model can ask for at once.
const MAX_WORDS: u32 = 1_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CountArgs {
    /// The text to count in.
    text: String,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Counts {
    /// Lines; a last line without a line break counts too.
    lines: usize,
    /// Words, separated by white space.
    words: usize,
    /// Unicode characters.
    chars: usize,
    /// Bytes in UTF-8.
    bytes: usize,
}

/// Count the lines, words, characters and bytes of a text.
#[tool(read_only, idempotent, timeout = "5s", example = r#"{"text": "to be\nor not to be"}"#)]
fn count(args: CountArgs) -> Counts {
    let CountArgs { text } = args;
    Counts {
        lines: text.lines().count(),
        words: text.split_whitespace().count(),
        chars: text.chars().count(),
        bytes: text.len(),
    }
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct TopWords {
    /// How many different words the text has.
    distinct: usize,
    /// The most frequent ones; equal counts stand in alphabetical order.
    top: Vec<WordCount>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct WordCount {
    /// The word in lower case.
    word: String,
    /// How often it stands in the text.
    count: u32,
}

/// List the most frequent words of a text, in lower case and without the punctuation around them.
#[tool(read_only, idempotent, timeout = "5s", example = r#"{"text": "to be or not to be", "limit": 2}"#)]
fn top_words(
    /// The text to read.
    text: String,
    /// How many words to list; 10 unless it is given, at most 1000.
    limit: Option<u32>,
    /// Shorter words are left out; 1 unless it is given.
    min_chars: Option<u32>,
) -> Result<TopWords, Failure> {
    let limit = limit.unwrap_or(10);
    if limit > MAX_WORDS {
        return Err(Failure::invalid_input(format!("`limit` is {limit}, at most {MAX_WORDS} are possible"))
            .advice("ask for fewer words"));
    }
    let min_chars = usize::try_from(min_chars.unwrap_or(1)).unwrap_or(usize::MAX);

    // An ordered map: the same text takes the same steps on every call, so its fuel is the same too.
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if !word.is_empty() && word.chars().count() >= min_chars {
            let count = counts.entry(word.to_lowercase()).or_default();
            *count = count.saturating_add(1);
        }
    }

    let distinct = counts.len();
    let mut top: Vec<WordCount> = counts.into_iter().map(|(word, count)| WordCount { word, count }).collect();
    // The sort is stable, so words with equal counts keep their alphabetical order.
    top.sort_by_key(|word| Reverse(word.count));
    top.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(TopWords { distinct, top })
}

hotcell_tool::component!(count, top_words);

#[cfg(test)]
mod tests;

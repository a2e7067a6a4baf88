//! Names that a query types out: they come first, whatever else scores.

use std::collections::HashMap;

use super::document::Document;
use super::tokenize::normalize;

/// Tools by their names in one spelling.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    names: HashMap<Box<str>, Vec<u32>>,
}

impl NameTable {
    pub(super) fn build(documents: &[Document]) -> Self {
        let mut names: HashMap<Box<str>, Vec<u32>> = HashMap::new();
        for (number, document) in documents.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let prefixed = format!("{}__{}", document.server, document.name);
            let mut spellings =
                vec![spelled(&document.name), spelled(&document.key), spelled(&prefixed)];
            spellings.sort_unstable();
            spellings.dedup();
            for spelling in spellings.into_iter().filter(|spelling| !spelling.is_empty()) {
                names.entry(spelling.into()).or_default().push(number);
            }
        }
        Self { names }
    }

    /// The tools whose full name, bare or prefixed, the query is or holds. A word
    /// among others counts only when it looks like a name: `search the web` does
    /// not name every tool called `search`, but `use graph_lookup` names one.
    pub(super) fn named_in(&self, query: &str) -> Vec<u32> {
        let mut named = Vec::new();
        let mut add = |spelling: &str| {
            named.extend(self.names.get(spelling).into_iter().flatten().copied());
        };
        add(&spelled(query));
        let is_separator = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        for word in query.split(is_separator) {
            let word = word.trim_matches(['_', '-', '.', '/']);
            let is_compound = word.contains(['_', '-', '.', '/'])
                || word
                    .chars()
                    .zip(word.chars().skip(1))
                    .any(|(a, b)| a.is_lowercase() && b.is_uppercase());
            if is_compound {
                add(&spelled(word));
            }
        }
        named.sort_unstable();
        named.dedup();
        named
    }
}

/// A name without regard to case, separators and camel case.
fn spelled(name: &str) -> String {
    normalize(name).chars().filter(|c| c.is_alphanumeric()).collect()
}

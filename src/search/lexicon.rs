//! What the ranking knows of language: stop words, abbreviations, verbs, and
//! English words for Chinese ones. The lists stand in `lexicon/`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

/// The lists, read once.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::read);

pub(super) struct Lexicon {
    stop_words: HashSet<&'static str>,
    abbreviations: HashMap<String, Vec<String>>,
    verbs: HashMap<String, Vec<String>>,
    chinese: HashMap<&'static str, Vec<String>>,
    longest_chinese: usize,
    stemmer: Stemmer,
}

impl Lexicon {
    fn read() -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let chinese: HashMap<&'static str, Vec<String>> =
            lines(include_str!("lexicon/chinese.txt"))
                .filter_map(|mut line| {
                    let word = line.next()?;
                    Some((word, line.map(|english| stem_with(&stemmer, english)).collect()))
                })
                .collect();
        let longest_chinese =
            chinese.keys().map(|word| word.chars().count()).max().unwrap_or_default();
        Self {
            stop_words: lines(include_str!("lexicon/stop_words.txt")).flatten().collect(),
            abbreviations: synonyms(include_str!("lexicon/abbreviations.txt"), &stemmer),
            verbs: synonyms(include_str!("lexicon/verbs.txt"), &stemmer),
            chinese,
            longest_chinese,
            stemmer,
        }
    }

    pub(super) fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.contains(word)
    }

    /// The English stem of a word; other words are their own stem.
    pub(super) fn stem(&self, word: &str) -> String {
        stem_with(&self.stemmer, word)
    }

    /// Stems of words with the same meaning as the word with this stem.
    pub(super) fn abbreviations(&self, stem: &str) -> &[String] {
        self.abbreviations.get(stem).map(Vec::as_slice).unwrap_or_default()
    }

    /// Stems of verbs for the same deed as the verb with this stem.
    pub(super) fn verbs(&self, stem: &str) -> &[String] {
        self.verbs.get(stem).map(Vec::as_slice).unwrap_or_default()
    }

    /// The English stems for each known word of a run of Chinese characters:
    /// longest match from the left, unknown characters passed over.
    pub(super) fn chinese(&self, run: &str) -> Vec<(&'static str, &[String])> {
        let mut found = Vec::new();
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let ends =
                rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(self.longest_chinese);
            let longest = ends.filter_map(|end| self.chinese.get_key_value(&rest[..end])).last();
            let length = longest.map_or(first.len_utf8(), |(word, _)| word.len());
            found.extend(longest.map(|(word, english)| (*word, english.as_slice())));
            rest = &rest[length..];
        }
        found
    }
}

fn stem_with(stemmer: &Stemmer, word: &str) -> String {
    if word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        stemmer.stem(word).into_owned()
    } else {
        word.to_owned()
    }
}

fn lines(list: &'static str) -> impl Iterator<Item = std::str::SplitWhitespace<'static>> {
    list.lines().filter(|line| !line.starts_with('#')).map(str::split_whitespace)
}

/// Each word of a group leads to the others; `a+b` is two words that are only led to.
fn synonyms(list: &'static str, stemmer: &Stemmer) -> HashMap<String, Vec<String>> {
    let mut table: HashMap<String, Vec<String>> = HashMap::new();
    for line in lines(list) {
        let group: Vec<&str> = line.collect();
        for word in group.iter().filter(|word| !word.contains('+')) {
            let others = group.iter().filter(|other| *other != word);
            let stems = others.flat_map(|other| other.split('+')).map(|w| stem_with(stemmer, w));
            table.entry(stem_with(stemmer, word)).or_default().extend(stems);
        }
    }
    for stems in table.values_mut() {
        stems.sort_unstable();
        stems.dedup();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::LEXICON;

    #[test]
    fn the_lists_lead_from_word_to_word() {
        assert!(LEXICON.is_stop_word("please") && !LEXICON.is_stop_word("create"));
        assert_eq!(LEXICON.abbreviations("pr"), ["pull", "request"]);
        assert!(LEXICON.verbs(&LEXICON.stem("creating")).contains(&"add".to_owned()));
        let found: Vec<&str> =
            LEXICON.chinese("请帮我创建数据库").iter().map(|(w, _)| *w).collect();
        assert_eq!(found, ["创建", "数据库"]);
    }
}

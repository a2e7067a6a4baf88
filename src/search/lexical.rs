//! The inverted index and its BM25F scores.
//!
//! Robertson, Zaragoza, Taylor: "Simple BM25 extension to multiple weighted
//! fields" (CIKM 2004). All that does not depend on the query is worked out when
//! the index is built, so that a query only adds numbers.

use std::collections::HashMap;

use super::document::{Document, Field};
use super::lexicon::LEXICON;
use super::options::Options;
use super::tokenize::{Kind, tokens};

/// Stands before a stem, so that stems and exact forms never meet.
const STEM_MARK: char = '~';

/// Shortest unknown word for which similar ones are tried.
const SHORTEST_FUZZY: usize = 4;

/// Similar words tried for an unknown one.
const MOST_FUZZY: usize = 3;

/// One tool that holds a term, and what that is worth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) document: u32,
    pub(super) score: f32,
}

/// Terms with the tools that hold them.
#[derive(Debug, Default)]
pub(super) struct LexicalIndex {
    terms: HashMap<Box<str>, Term>,
    /// Exact forms of three letters or more, sorted.
    words: Vec<Box<str>>,
    documents: usize,
}

#[derive(Debug)]
struct Term {
    rarity: f32,
    postings: Box<[Posting]>,
}

/// One occurrence: term, document, field.
type Occurrence = (u32, u32, u8);

impl LexicalIndex {
    pub(super) fn build(documents: &[Document], options: &Options) -> Self {
        let mut draft = Draft::default();
        for document in documents {
            draft.add(document);
        }
        draft.finish(options)
    }

    /// The tools that hold a term, and the term's rarity.
    pub(super) fn term(&self, term: &str) -> Option<(f32, &[Posting])> {
        self.terms.get(term).map(|term| (term.rarity, &*term.postings))
    }

    pub(super) fn is_known(&self, term: &str) -> bool {
        self.terms.contains_key(term)
    }

    /// The rarity of a term that no tool holds.
    pub(super) fn unseen_rarity(&self) -> f32 {
        rarity(0, self.documents)
    }

    /// Indexed words that differ from an unknown one by one letter, or by two
    /// neighbours swapped; the most frequent first.
    pub(super) fn similar(&self, word: &str) -> Vec<&str> {
        let is_plain = word.bytes().all(|byte| byte.is_ascii_alphabetic());
        if word.len() < SHORTEST_FUZZY
            || !is_plain
            || self.is_known(word)
            || self.is_known(&stemmed(word))
        {
            return Vec::new();
        }
        let first = &word[..1];
        let from = self.words.partition_point(|known| &**known < first);
        let mut similar: Vec<(usize, &str)> = self.words[from..]
            .iter()
            .take_while(|known| known.starts_with(first))
            .filter(|known| differs_by_one(word.as_bytes(), known.as_bytes()))
            .map(|known| (self.terms[known].postings.len(), &**known))
            .collect();
        similar.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        similar.into_iter().take(MOST_FUZZY).map(|(_, known)| known).collect()
    }
}

/// The term under which a stem is indexed.
pub(super) fn stemmed(word: &str) -> String {
    format!("{STEM_MARK}{}", LEXICON.stem(word))
}

/// The term for a stem.
pub(super) fn stem_term(stem: &str) -> String {
    format!("{STEM_MARK}{stem}")
}

/// Inverse document frequency in the form that is never negative.
fn rarity(holders: usize, documents: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of tools are far below 2^24")]
    let (holders, documents) = (holders as f32, documents as f32);
    (1.0 + (documents - holders + 0.5) / (holders + 0.5)).ln()
}

#[derive(Default)]
struct Draft {
    ids: HashMap<Box<str>, u32>,
    /// The stem's term for each exact term, so that each word is stemmed once.
    stems: HashMap<u32, u32>,
    occurrences: Vec<Occurrence>,
    lengths: Vec<[f32; Field::COUNT]>,
}

impl Draft {
    fn add(&mut self, document: &Document) {
        let number = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        let mut lengths = [0.0; Field::COUNT];
        for (field, text) in document.fields.iter().enumerate() {
            let place = u8::try_from(field).unwrap_or_default();
            for token in tokens(text) {
                // A joined form repeats its parts.
                if token.kind != Kind::Joined {
                    lengths[field] += 1.0;
                }
                self.occur(&token.text, token.kind, (number, place));
            }
        }
        let whole: Vec<String> = tokens(&document.name)
            .into_iter()
            .filter(|token| token.kind != Kind::Part)
            .map(|token| token.text)
            .collect();
        if whole.len() > 1 {
            let place = u8::try_from(Field::NAME).unwrap_or_default();
            self.occur(&whole.concat(), Kind::Joined, (number, place));
        }
        self.lengths.push(lengths);
    }

    fn occur(&mut self, text: &str, kind: Kind, (document, field): (u32, u8)) {
        let exact = self.id(text);
        self.occurrences.push((exact, document, field));
        if kind == Kind::Cjk {
            return;
        }
        let stem = match self.stems.get(&exact) {
            Some(stem) => *stem,
            None => {
                let stem = self.id(&stemmed(text));
                self.stems.insert(exact, stem);
                stem
            }
        };
        self.occurrences.push((stem, document, field));
    }

    fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
        self.ids.insert(text.into(), id);
        id
    }

    fn finish(mut self, options: &Options) -> LexicalIndex {
        let documents = self.lengths.len();
        let weights = field_weights(&self.lengths, options);
        self.occurrences.sort_unstable();
        let mut terms = HashMap::with_capacity(self.ids.len());
        let mut names: Vec<(u32, Box<str>)> =
            self.ids.into_iter().map(|(name, id)| (id, name)).collect();
        names.sort_unstable_by_key(|(id, _)| *id);
        let mut rest = self.occurrences.as_slice();
        let mut words = Vec::new();
        for (id, name) in names {
            let end = rest.partition_point(|occurrence| occurrence.0 == id);
            let (own, after) = rest.split_at(end);
            rest = after;
            let is_word = name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
            if is_word {
                words.push(name.clone());
            }
            terms.insert(name, term_of(own, &weights, (options, documents)));
        }
        words.sort_unstable();
        LexicalIndex { terms, words, documents }
    }
}

/// What one occurrence in each field of each document counts.
fn field_weights(lengths: &[[f32; Field::COUNT]], options: &Options) -> Vec<[f32; Field::COUNT]> {
    #[expect(clippy::cast_precision_loss, reason = "counts of tools are far below 2^24")]
    let documents = lengths.len().max(1) as f32;
    let mut averages = [0.0; Field::COUNT];
    for length in lengths {
        for (average, one) in averages.iter_mut().zip(length) {
            *average += one / documents;
        }
    }
    let weigh = |length: &[f32; Field::COUNT]| {
        std::array::from_fn(|field| {
            let b = options.length_normalization[field];
            let average = if averages[field] > 0.0 { averages[field] } else { 1.0 };
            options.weights[field] / (1.0 - b + b * length[field] / average)
        })
    };
    lengths.iter().map(weigh).collect()
}

fn term_of(
    occurrences: &[Occurrence],
    weights: &[[f32; Field::COUNT]],
    (options, documents): (&Options, usize),
) -> Term {
    let mut frequencies: Vec<Posting> = Vec::new();
    for (_, document, field) in occurrences {
        let weight = weights[*document as usize][usize::from(*field)];
        match frequencies.last_mut() {
            Some(last) if last.document == *document => last.score += weight,
            _ => frequencies.push(Posting { document: *document, score: weight }),
        }
    }
    let rarity = rarity(frequencies.len(), documents);
    for posting in &mut frequencies {
        posting.score = rarity * posting.score / (options.k1 + posting.score);
    }
    Term { rarity, postings: frequencies.into_boxed_slice() }
}

/// Whether one letter was added, left out or replaced, or two neighbours swapped.
fn differs_by_one(a: &[u8], b: &[u8]) -> bool {
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    match a.len().cmp(&b.len()) {
        std::cmp::Ordering::Less => a == &b[1..],
        std::cmp::Ordering::Greater => &a[1..] == b,
        std::cmp::Ordering::Equal => {
            let is_swapped = a.len() > 1 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..];
            a.is_empty() || a[1..] == b[1..] || is_swapped
        }
    }
}

#[cfg(test)]
mod tests {
    use super::differs_by_one;

    #[test]
    fn one_slip_of_the_finger_is_one_difference() {
        for (a, b, expected) in [
            ("issue", "isue", true),
            ("issue", "issuee", true),
            ("issue", "isseu", true),
            ("issue", "izsue", true),
            ("issue", "issue", true),
            ("issue", "iusse", false),
            ("issue", "iss", false),
        ] {
            assert_eq!(differs_by_one(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }
}

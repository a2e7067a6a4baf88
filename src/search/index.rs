//! The immutable whole: one moment of the catalogue, ready to be searched.

use std::collections::HashSet;

use super::document::{Document, Field};
use super::exact::NameTable;
use super::fusion::{Arms, Ranks, Scored, alone, by_keyword, by_vector, fuse};
use super::lexical::{LexicalIndex, stem_term, stemmed};
use super::lexicon::LEXICON;
use super::options::Options;
use super::passages::{Passages, VectorQuery};
use super::tokenize::{Kind, Token, cjk_runs, has_words, tokens};
use crate::domain::TextDigest;

/// Characters of a query that are read.
const LONGEST_QUERY: usize = 2_000;

/// Distinct words of a query that are looked up; the rest of a novel adds nothing.
const MOST_GROUPS: usize = 200;

/// How sure the ranking is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confidence {
    /// The best hit fits, or was named.
    High,
    /// Something may fit.
    Low,
    /// Nothing fits; the hits are the nearest misses.
    None,
}

impl Confidence {
    /// The word for it in answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Low => "low",
            Self::None => "none",
        }
    }
}

/// A tool in a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Position of the tool in the index, which is the order of its key.
    pub document: usize,
    /// Its score; never rounded here.
    pub score: f32,
    /// What each arm thinks of it.
    pub ranks: Ranks,
}

/// Tools from best to worst.
///
/// Invariant: named tools first, then by falling score, equal scores by rising
/// key, so that the same catalogue and query always give the same answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The tools.
    pub hits: Vec<Hit>,
    /// How sure it is.
    pub confidence: Confidence,
    /// The best hit's share of what a perfect hit would score, 0 to about 1.
    pub coverage: f32,
    /// Whether the query held anything that can be looked up.
    pub has_words: bool,
}

/// What the words of a query say.
struct Keyword {
    scored: Scored,
    coverage: f32,
    /// Whether the best tool holds every word.
    holds_all: bool,
}

/// The index of one catalogue.
#[derive(Debug)]
pub struct Index {
    lexical: LexicalIndex,
    names: NameTable,
    passages: Passages,
    documents: usize,
    options: Options,
}

/// One word of a query: the terms that can stand for it. What it adds to a tool
/// is that of its best term.
struct Group {
    weight: f32,
    terms: Vec<(String, f32)>,
}

impl Index {
    /// Builds the index; `documents` come in the order of their keys.
    pub fn build(documents: Vec<Document>, options: Options) -> Self {
        Self {
            lexical: LexicalIndex::build(&documents, &options),
            names: NameTable::build(&documents),
            passages: Passages::of(&documents),
            documents: documents.len(),
            options,
        }
    }

    /// The texts that stand for the tools in a search by meaning.
    pub fn passages(&self) -> impl Iterator<Item = (TextDigest, &str)> {
        self.passages.texts()
    }

    /// The best `depth` tools, only those that pass where there is a filter.
    pub fn rank(
        &self,
        query: &str,
        depth: usize,
        filter: Option<&dyn Fn(usize) -> bool>,
        arms: Arms<VectorQuery<'_>>,
    ) -> Ranking {
        let query = clipped(query);
        let passes = |document: usize| filter.is_none_or(|passes| passes(document));
        let keyword = self.keyword(query, &passes);
        let mut hits = match arms {
            Arms::Keyword => alone(&keyword.scored, by_keyword),
            Arms::Vector(arm) => alone(&self.passages.nearest(arm, filter), by_vector),
            Arms::Both(arm) => {
                let has_vector = |document| self.passages.cosine(arm, document).is_some();
                let nearest = self.passages.nearest(arm, filter);
                fuse(&keyword.scored, &nearest, has_vector, &self.options)
            }
        };
        let mut named = self.names.named_in(query);
        named.retain(|document| passes(*document as usize) && !matches!(arms, Arms::Vector(_)));
        let best = hits.iter().map(|hit| hit.score).fold(0.0_f32, f32::max);
        for document in named.iter().map(|document| *document as usize) {
            let unranked = || Hit { document, score: best + 1.0, ranks: Ranks::default() };
            match hits.iter_mut().find(|hit| hit.document == document) {
                Some(hit) => hit.score += best + 1.0,
                None => hits.push(unranked()),
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
        hits.truncate(depth);
        let confidence = if !named.is_empty() || keyword.coverage >= self.options.high_coverage {
            Confidence::High
        } else if keyword.coverage >= self.options.low_coverage || keyword.holds_all {
            Confidence::Low
        } else {
            Confidence::None
        };
        let coverage = keyword.coverage;
        Ranking { hits, confidence, coverage, has_words: has_words(query) }
    }

    /// The fields of `document` in which a word of the query stands, in any form.
    pub fn matched_fields(&self, query: &str, document: &Document) -> Vec<Field> {
        let groups = self.groups(clipped(query));
        let terms: HashSet<&str> =
            groups.iter().flat_map(|group| &group.terms).map(|(term, _)| term.as_str()).collect();
        let matches = |text: &str| {
            tokens(text).iter().any(|token| {
                terms.contains(token.text.as_str())
                    || (token.kind != Kind::Cjk && terms.contains(stemmed(&token.text).as_str()))
            })
        };
        let fields = Field::ALL.into_iter().zip(&document.fields);
        fields.filter(|(_, text)| matches(text)).map(|(field, _)| field).collect()
    }

    /// What the words of the query say.
    fn keyword(&self, query: &str, passes: &dyn Fn(usize) -> bool) -> Keyword {
        let groups = self.groups(query);
        let mut scores = vec![0.0_f32; self.documents];
        let matches = self.add(&groups, &mut scores);
        let top = (0..self.documents)
            .filter(|document| passes(*document))
            .max_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a)));
        let coverage = self.coverage(top.map_or(0.0, |top| scores[top]), &groups);
        // However common its words are here, such a tool is no miss.
        let holds_all =
            !groups.is_empty() && top.is_some_and(|top| usize::from(matches[top]) == groups.len());
        self.add_segments(query, &mut scores);
        let mut scored: Scored = (0..self.documents)
            .filter(|document| scores[*document] > 0.0 && passes(*document))
            .map(|document| (document, scores[document]))
            .collect();
        // The hits are in the order of their keys and the sort is stable.
        scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        Keyword { scored, coverage, holds_all }
    }

    /// Adds to each tool what the groups give it; returns how many groups each holds.
    fn add(&self, groups: &[Group], scores: &mut [f32]) -> Vec<u16> {
        let mut matches = vec![0; self.documents];
        let mut best = vec![0.0_f32; self.documents];
        let mut touched: Vec<u32> = Vec::new();
        for group in groups {
            for (term, term_weight) in &group.terms {
                let Some((_, postings)) = self.lexical.term(term) else { continue };
                for posting in postings {
                    let place = &mut best[posting.document as usize];
                    if *place == 0.0 {
                        touched.push(posting.document);
                    }
                    *place = place.max(term_weight * posting.score);
                }
            }
            for document in touched.drain(..) {
                let place = &mut best[document as usize];
                scores[document as usize] += group.weight * *place;
                matches[document as usize] += 1;
                *place = 0.0;
            }
        }
        matches
    }

    /// A request of several sentences often holds several needs: the best single
    /// sentence counts once more.
    fn add_segments(&self, query: &str, scores: &mut [f32]) {
        let segments: Vec<&str> = segments(query);
        if segments.len() < 2 {
            return;
        }
        let mut best = vec![0.0_f32; self.documents];
        for segment in segments {
            let mut own = vec![0.0_f32; self.documents];
            self.add(&self.groups(segment), &mut own);
            for (best, own) in best.iter_mut().zip(own) {
                *best = best.max(own);
            }
        }
        for (score, best) in scores.iter_mut().zip(best) {
            *score += self.options.segment_weight * best;
        }
    }

    /// `top` against what a perfect hit would score, with the words that the
    /// index does not know weighing more the more of them there are. The form was
    /// the best of ten at telling answerable queries from others.
    fn coverage(&self, top: f32, groups: &[Group]) -> f32 {
        let unseen = self.lexical.unseen_rarity();
        let ideal: f32 = groups
            .iter()
            .map(|group| {
                let known = group.terms.iter().filter_map(|(term, weight)| {
                    self.lexical.term(term).map(|(rarity, _)| weight * rarity)
                });
                group.weight * known.reduce(f32::max).unwrap_or(unseen)
            })
            .sum();
        if top <= 0.0 || ideal <= 0.0 { 0.0 } else { top / (ideal.powf(0.3) * unseen.powf(0.7)) }
    }

    fn groups(&self, query: &str) -> Vec<Group> {
        let all = tokens(query);
        let kept: Vec<&Token> =
            all.iter().filter(|token| !LEXICON.is_stop_word(&token.text)).collect();
        let kept = if kept.is_empty() { all.iter().collect() } else { kept };
        let mut seen = HashSet::new();
        let mut groups = Vec::new();
        for (word, is_cjk) in self.query_words(&kept) {
            if groups.len() < MOST_GROUPS && seen.insert(word) {
                groups.push(if is_cjk { self.cjk_group(word) } else { self.word_group(word) });
            }
        }
        let mut seen = HashSet::new();
        for run in cjk_runs(query) {
            for (word, english) in LEXICON.chinese(&run) {
                if groups.len() < MOST_GROUPS && seen.insert(word) {
                    let terms = english.iter().map(|stem| (stem_term(stem), 1.0)).collect();
                    groups.push(Group { weight: self.options.glossary_weight, terms });
                }
            }
        }
        groups
    }

    /// The words to look up: of a compound the joined form alone where the index
    /// knows it, else its parts too.
    fn query_words<'a>(&self, kept: &[&'a Token]) -> Vec<(&'a str, bool)> {
        let mut words = Vec::new();
        let mut parts: Vec<&str> = Vec::new();
        for token in kept {
            match token.kind {
                Kind::Part => parts.push(&token.text),
                Kind::Joined | Kind::Word | Kind::Cjk => {
                    if token.kind == Kind::Joined && !self.lexical.is_known(&token.text) {
                        words.extend(parts.iter().map(|part| (*part, false)));
                    }
                    parts.clear();
                    words.push((token.text.as_str(), token.kind == Kind::Cjk));
                }
            }
        }
        // Parts whose joined form is a stop word.
        words.extend(parts.into_iter().map(|part| (part, false)));
        words
    }

    fn cjk_group(&self, pair: &str) -> Group {
        Group { weight: self.options.cjk_weight, terms: vec![(pair.to_owned(), 1.0)] }
    }

    fn word_group(&self, word: &str) -> Group {
        let options = &self.options;
        let stem = LEXICON.stem(word);
        let mut terms = vec![(word.to_owned(), 1.0), (stemmed(word), 1.0)];
        let mut add = |stems: &[String], weight: f32| {
            terms.extend(stems.iter().map(|stem| (stem_term(stem), weight)));
        };
        add(LEXICON.abbreviations(&stem), options.abbreviation_weight);
        add(LEXICON.verbs(&stem), options.verb_weight);
        let similar = self.lexical.similar(word);
        terms.extend(similar.iter().map(|known| ((*known).to_owned(), options.fuzzy_weight)));
        Group { weight: 1.0, terms }
    }
}

/// Sentences of a query that hold anything to look up.
fn segments(query: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let mut start = 0;
    let mut characters = query.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let ends = match c {
            '。' | '！' | '？' | '；' | '\n' => true,
            '.' | '!' | '?' | ';' => {
                characters.peek().is_some_and(|(_, next)| next.is_whitespace())
            }
            _ => false,
        };
        if ends {
            segments.push(&query[start..at]);
            start = at + c.len_utf8();
        }
    }
    segments.push(&query[start..]);
    segments.retain(|segment| has_words(segment));
    segments
}

fn clipped(query: &str) -> &str {
    let end = query.char_indices().nth(LONGEST_QUERY).map_or(query.len(), |(at, _)| at);
    &query[..end]
}

//! The rankings of both arms made one, by weighted reciprocal rank fusion.
//!
//! Cormack, Clarke, Büttcher: "Reciprocal rank fusion outperforms Condorcet and
//! individual rank learning methods" (SIGIR 2009). Weights and the constant are our
//! own; `docs/design/0003-hybrid-ranking.md` has what was tried.

use std::collections::BTreeMap;

use super::index::Hit;
use super::options::Options;

/// Tools of each arm that take part.
pub(super) const FUSED_DEPTH: usize = 100;

/// The place of a tool in each arm, from 1; nothing where it is not among the first
/// [`FUSED_DEPTH`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ranks {
    /// By keyword.
    pub keyword: Option<u16>,
    /// By vector.
    pub vector: Option<u16>,
}

/// Which arms rank.
#[derive(Clone, Copy, Debug)]
pub enum Arms<T> {
    /// Keywords alone.
    Keyword,
    /// Vectors alone: for comparison.
    Vector(T),
    /// Both, fused.
    Both(T),
}

impl<T> Arms<T> {
    /// The same arms with the vectors in another form.
    pub fn map<'a, U>(&'a self, form: impl FnOnce(&'a T) -> U) -> Arms<U> {
        match self {
            Self::Keyword => Arms::Keyword,
            Self::Vector(vectors) => Arms::Vector(form(vectors)),
            Self::Both(vectors) => Arms::Both(form(vectors)),
        }
    }

    /// Its name in answers and reports.
    pub fn ranker(&self) -> &'static str {
        match self {
            Self::Keyword => "bm25",
            Self::Vector(_) => "vector",
            Self::Both(_) => "hybrid",
        }
    }
}

/// Tools with their scores, best first.
pub(super) type Scored = Vec<(usize, f32)>;

/// One arm alone, with its own scores.
pub(super) fn alone(scored: &Scored, ranks: fn(u16) -> Ranks) -> Vec<Hit> {
    let hit = |(place, (document, score)): (u16, &(usize, f32))| Hit {
        document: *document,
        score: *score,
        ranks: ranks(place),
    };
    (1..=u16::MAX).zip(scored).map(hit).collect()
}

/// Both arms. `has_vector` tells a tool that is far from one of which the vectors
/// have no opinion yet.
pub(super) fn fuse(
    keyword: &Scored,
    nearest: &Scored,
    has_vector: impl Fn(usize) -> bool,
    options: &Options,
) -> Vec<Hit> {
    let by_keyword = alone(keyword, by_keyword).into_iter().take(FUSED_DEPTH);
    let mut hits: BTreeMap<usize, Hit> = by_keyword.map(|hit| (hit.document, hit)).collect();
    for near in alone(nearest, by_vector) {
        hits.entry(near.document).or_insert(near).ranks.vector = near.ranks.vector;
    }
    let reciprocal = |rank: u16| 1.0 / (options.rank_constant + f32::from(rank));
    for hit in hits.values_mut() {
        let keyword = hit.ranks.keyword.map_or(0.0, reciprocal);
        let vector = match hit.ranks.vector {
            Some(rank) => reciprocal(rank),
            None if has_vector(hit.document) => 0.0,
            // As the other arm says.
            None => keyword,
        };
        hit.score = keyword + options.vector_weight * vector;
    }
    hits.into_values().collect()
}

pub(super) fn by_keyword(place: u16) -> Ranks {
    Ranks { keyword: Some(place), vector: None }
}

pub(super) fn by_vector(place: u16) -> Ranks {
    Ranks { keyword: None, vector: Some(place) }
}

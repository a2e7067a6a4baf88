//! A whole evaluation: each set searched, measured and timed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::data::EvaluationSet;
use super::metrics::{DEPTH, Metrics, mean, measure};
use crate::domain::{Embedding, TextDigest};
use crate::search::{
    Arms, Centre, Confidence, Index, Options, Ranking, VectorIndex, VectorQuery, words,
};
use crate::sys::resident_mib;

/// A set of this kind only shows that nothing is broken; it is left out of means.
const SMOKE: &str = "-smoke";

/// Which arms rank.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ranker {
    /// Keywords alone.
    Bm25,
    /// Vectors alone.
    Vector,
    /// Both, fused.
    Hybrid,
}

impl Ranker {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bm25, Self::Vector, Self::Hybrid];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Vector => "vector",
            Self::Hybrid => "hybrid",
        }
    }
}

/// The vectors that an evaluation needs, made before it.
#[derive(Debug)]
pub struct SetVectors {
    /// The model's name.
    pub model: String,
    /// Seconds spent on embedding.
    pub embed_seconds: f64,
    /// What is taken out of a query.
    pub centre: Centre,
    /// The tools' texts.
    pub passages: HashMap<TextDigest, Embedding>,
    /// The queries.
    pub queries: HashMap<String, Embedding>,
}

/// The figures of one ranker on one set.
#[derive(Clone, Debug, Serialize)]
pub struct RankerReport {
    /// Quality over the queries that have an answer.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Milliseconds for half of the queries, without the encoding of the query.
    pub query_ms_p50: f64,
    /// Milliseconds for 95 of 100 queries.
    pub query_ms_p95: f64,
    /// Share of the queries without an answer for which the ranking said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none_recognized: Option<f64>,
    /// Share of the queries with an answer for which the ranking said that there is none.
    pub none_mistaken: f64,
}

impl RankerReport {
    /// The figure to compare: nDCG@10, or for queries without an answer the share
    /// that was recognised.
    pub fn figure(&self) -> f64 {
        self.none_recognized.unwrap_or(self.metrics.ndcg_10)
    }
}

/// The figures of one set.
#[derive(Clone, Debug, Serialize)]
pub struct SetReport {
    /// Its name.
    pub set: String,
    /// Tools in its catalogue.
    pub catalogue_tools: usize,
    /// Its queries.
    pub queries: usize,
    /// Share of a query's words that stand in the text of a right tool: how easy
    /// the set is for a ranker that compares words.
    pub word_overlap: f64,
    /// By ranker.
    pub rankers: BTreeMap<&'static str, RankerReport>,
}

/// What building the indexes cost.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IndexReport {
    /// Seconds spent on embedding.
    pub embed_seconds: f64,
    /// Tools indexed.
    pub tools: usize,
    /// Seconds spent on building.
    pub build_seconds: f64,
    /// Resident memory at the end in MiB, where the system tells.
    pub rss_mib: Option<f64>,
}

/// A whole evaluation.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluationReport {
    /// The embedding model, when one took part.
    pub model: Option<String>,
    /// By set.
    pub sets: Vec<SetReport>,
    /// Means over the sets that have answers, smoke sets left out.
    pub mean: BTreeMap<&'static str, Metrics>,
    /// What building cost.
    pub index: IndexReport,
}

/// The ranking of one query, for others to check.
#[derive(Clone, Debug, Serialize)]
pub struct RankedQuery {
    /// The set.
    pub set: String,
    /// The query's id.
    pub id: String,
    /// The ranker.
    pub ranker: &'static str,
    /// The ranked names, best first.
    pub ranked: Vec<String>,
}

/// Evaluates `rankers` on `sets`. Those that need vectors are left out when there are
/// none.
pub fn evaluate(
    sets: &[EvaluationSet],
    rankers: &[Ranker],
    options: &Options,
    vectors: Option<&SetVectors>,
) -> (EvaluationReport, Vec<RankedQuery>) {
    let mut report = EvaluationReport {
        model: vectors.map(|vectors| vectors.model.clone()),
        sets: Vec::new(),
        mean: BTreeMap::new(),
        index: IndexReport::default(),
    };
    report.index.embed_seconds = vectors.map_or(0.0, |vectors| vectors.embed_seconds);
    let rankers: Vec<Ranker> = rankers
        .iter()
        .filter(|ranker| vectors.is_some() || **ranker == Ranker::Bm25)
        .copied()
        .collect();
    let mut ranked = Vec::new();
    let mut indexes: BTreeMap<&str, Searched> = BTreeMap::new();
    for set in sets {
        let index = indexes.entry(&set.catalogue).or_insert_with(|| {
            let begin = Instant::now();
            let index = Searched::build(set, options, vectors);
            report.index.build_seconds += begin.elapsed().as_secs_f64();
            report.index.tools += set.documents.len();
            index
        });
        let mut set_report = SetReport {
            set: set.name.clone(),
            catalogue_tools: set.documents.len(),
            queries: set.queries.len(),
            word_overlap: word_overlap(set),
            rankers: BTreeMap::new(),
        };
        for ranker in &rankers {
            let (figures, rankings) = run(set, index, (*ranker, vectors));
            set_report.rankers.insert(ranker.name(), figures);
            ranked.extend(rankings);
        }
        report.sets.push(set_report);
    }
    for ranker in &rankers {
        let all: Vec<Metrics> = report
            .sets
            .iter()
            .filter(|set| set.has_answers(sets) && !set.set.ends_with(SMOKE))
            .filter_map(|set| Some(set.rankers.get(ranker.name())?.metrics))
            .collect();
        report.mean.insert(ranker.name(), mean(&all));
    }
    report.index.rss_mib = resident_mib();
    (report, ranked)
}

/// A catalogue as it is searched.
struct Searched {
    index: Index,
    vectors: VectorIndex,
}

impl Searched {
    fn build(set: &EvaluationSet, options: &Options, vectors: Option<&SetVectors>) -> Self {
        let index = Index::build(set.documents.as_ref().clone(), options.clone());
        let own = vectors.map(|vectors| {
            index
                .passages()
                .filter_map(|(digest, _)| Some((digest, vectors.passages.get(&digest)?.clone())))
        });
        let vectors = VectorIndex::new(own.into_iter().flatten());
        let vectors = if vectors.is_empty() { vectors } else { vectors.with_graph() };
        Self { index, vectors }
    }

    /// Ranks as the gateway does. A query without a vector falls back to keywords.
    fn rank(&self, query: &str, ranker: Ranker, vectors: Option<&SetVectors>) -> Ranking {
        let centred = |vectors: &SetVectors| {
            vectors.queries.get(query).map(|query| vectors.centre.centred(query))
        };
        let query_vector = vectors.and_then(centred);
        let arm = query_vector.as_ref().map(|query| VectorQuery { query, vectors: &self.vectors });
        let arms = match (ranker, arm) {
            (Ranker::Bm25, _) | (_, None) => Arms::Keyword,
            (Ranker::Vector, Some(arm)) => Arms::Vector(arm),
            (Ranker::Hybrid, Some(arm)) => Arms::Both(arm),
        };
        self.index.rank(query, DEPTH, None, arms)
    }
}

impl SetReport {
    /// A set of unanswerable queries has no quality to average.
    fn has_answers(&self, sets: &[EvaluationSet]) -> bool {
        let own = sets.iter().find(|set| set.name == self.set);
        own.is_some_and(|set| set.queries.iter().any(|query| !query.relevant.is_empty()))
    }
}

fn run(
    set: &EvaluationSet,
    index: &Searched,
    (ranker, vectors): (Ranker, Option<&SetVectors>),
) -> (RankerReport, Vec<RankedQuery>) {
    let mut rankings = Vec::new();
    let mut measured = Vec::new();
    let mut times = Vec::new();
    let (mut recognized, mut unanswerable, mut mistaken) = (0_u32, 0_u32, 0_u32);
    for query in &set.queries {
        let begin = Instant::now();
        let ranking = index.rank(&query.query, ranker, vectors);
        times.push(begin.elapsed());
        let names: Vec<&str> =
            ranking.hits.iter().map(|hit| set.documents[hit.document].key.as_str()).collect();
        let says_none = ranking.confidence == Confidence::None;
        if query.relevant.is_empty() {
            unanswerable += 1;
            recognized += u32::from(says_none);
        } else {
            mistaken += u32::from(says_none);
            measured.push(measure(&names, &query.needs()));
        }
        rankings.push(RankedQuery {
            set: set.name.clone(),
            id: query.id.clone(),
            ranker: ranker.name(),
            ranked: names.into_iter().map(ToOwned::to_owned).collect(),
        });
    }
    times.sort_unstable();
    let answerable = u32::try_from(measured.len()).unwrap_or(u32::MAX);
    let report = RankerReport {
        metrics: mean(&measured),
        query_ms_p50: percentile(&times, 50),
        query_ms_p95: percentile(&times, 95),
        none_recognized: (unanswerable > 0)
            .then(|| f64::from(recognized) / f64::from(unanswerable)),
        none_mistaken: f64::from(mistaken) / f64::from(answerable.max(1)),
    };
    (report, rankings)
}

fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// The mean share of a query's words that its right tools' texts hold.
fn word_overlap(set: &EvaluationSet) -> f64 {
    let texts: BTreeMap<&str, HashSet<String>> = set
        .documents
        .iter()
        .map(|document| {
            let text = format!("{} {}", document.name.replace('_', " "), document.fields.join(" "));
            (document.key.as_str(), words(&text).into_iter().collect())
        })
        .collect();
    let shares: Vec<f64> = set
        .queries
        .iter()
        .filter(|query| !query.relevant.is_empty())
        .map(|query| {
            let asked: HashSet<String> = words(&query.query).into_iter().collect();
            let held = |word: &&String| {
                query
                    .relevant
                    .iter()
                    .any(|id| texts.get(id.as_str()).is_some_and(|text| text.contains(*word)))
            };
            let found = u32::try_from(asked.iter().filter(held).count()).unwrap_or_default();
            f64::from(found) / f64::from(u32::try_from(asked.len().max(1)).unwrap_or(1))
        })
        .collect();
    let count = u32::try_from(shares.len().max(1)).unwrap_or(1);
    shares.iter().fold(0.0, |sum, share| sum + share) / f64::from(count)
}

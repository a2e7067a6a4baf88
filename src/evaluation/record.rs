//! Comparison with recorded results: a drop beyond noise needs a reason.

use std::collections::BTreeMap;

use super::run::{EvaluationReport, RankerReport};

/// A fall that one changed query of a small set can cause.
const NOISE: f64 = 0.01;

/// The recorded figure by ranker and set: nDCG@10, or for a set of queries without
/// an answer the share for which the ranking said so.
pub type Recorded = BTreeMap<String, BTreeMap<String, f64>>;

/// A set on which a ranker has become worse.
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// The ranker.
    pub ranker: String,
    /// The set.
    pub set: String,
    /// What was recorded.
    pub before: f64,
    /// What is now.
    pub now: f64,
}

/// The sets of `recorded` on which `report` is worse by more than noise, or that
/// it lacks.
pub fn compare(report: &EvaluationReport, recorded: &Recorded) -> Vec<Drop> {
    let mut drops = Vec::new();
    for (ranker, sets) in recorded {
        for (set, before) in sets {
            let now = report
                .sets
                .iter()
                .find(|one| one.set == *set)
                .and_then(|one| one.rankers.get(ranker.as_str()))
                .map_or(0.0, RankerReport::figure);
            if now < before - NOISE {
                let (ranker, set) = (ranker.clone(), set.clone());
                drops.push(Drop { ranker, set, before: *before, now });
            }
        }
    }
    drops
}

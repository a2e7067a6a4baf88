//! Recall, MRR and nDCG of one ranking, all over needs.

use serde::{Deserialize, Serialize};

/// Depth to which a ranking is looked at.
pub(super) const DEPTH: usize = 10;

/// Figures of one query, or their mean over many; fractions from 0 to 1.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Metrics {
    /// Share of needs met by the first tool.
    #[serde(rename = "recall@1")]
    pub recall_1: f64,
    /// … by the first three.
    #[serde(rename = "recall@3")]
    pub recall_3: f64,
    /// … by the first five.
    #[serde(rename = "recall@5")]
    pub recall_5: f64,
    /// … by the first ten.
    #[serde(rename = "recall@10")]
    pub recall_10: f64,
    /// 1 / rank of the first tool that meets any need, within ten.
    #[serde(rename = "mrr@10")]
    pub mrr_10: f64,
    /// Discounted gain, 1 for a tool that meets a need not yet met, against the
    /// best possible order, within ten.
    #[serde(rename = "ndcg@10")]
    pub ndcg_10: f64,
}

/// Measures `ranked` against `needs`, of which there is at least one.
pub fn measure(ranked: &[&str], needs: &[Vec<&str>]) -> Metrics {
    let mut met = vec![false; needs.len()];
    let mut met_after = [0_usize; DEPTH];
    let (mut gain, mut first) = (0.0, None);
    for (rank, place) in met_after.iter_mut().enumerate() {
        if let Some(tool) = ranked.get(rank) {
            let fresh =
                needs.iter().enumerate().find(|(at, need)| !met[*at] && need.contains(tool));
            if needs.iter().any(|need| need.contains(tool)) {
                first.get_or_insert(rank);
            }
            if fresh.is_some() {
                gain += discount(rank);
            }
            // One tool may meet several needs at once.
            for (met, need) in met.iter_mut().zip(needs) {
                *met |= need.contains(tool);
            }
        }
        *place = met.iter().filter(|met| **met).count();
    }
    let ideal: f64 = (0..needs.len().min(DEPTH)).map(discount).sum();
    let recall = |k: usize| share(met_after[k - 1], needs.len());
    Metrics {
        recall_1: recall(1),
        recall_3: recall(3),
        recall_5: recall(5),
        recall_10: recall(10),
        mrr_10: first.map_or(0.0, |rank| share(1, rank + 1)),
        ndcg_10: if ideal > 0.0 { gain / ideal } else { 0.0 },
    }
}

/// The mean of `all`; zeros when there are none.
pub(super) fn mean(all: &[Metrics]) -> Metrics {
    let mean_of = |figure: fn(&Metrics) -> f64| {
        let sum: f64 = all.iter().map(figure).sum();
        if all.is_empty() { 0.0 } else { sum / as_float(all.len()) }
    };
    Metrics {
        recall_1: mean_of(|m| m.recall_1),
        recall_3: mean_of(|m| m.recall_3),
        recall_5: mean_of(|m| m.recall_5),
        recall_10: mean_of(|m| m.recall_10),
        mrr_10: mean_of(|m| m.mrr_10),
        ndcg_10: mean_of(|m| m.ndcg_10),
    }
}

fn discount(rank: usize) -> f64 {
    1.0 / (as_float(rank) + 2.0).log2()
}

fn share(part: usize, whole: usize) -> f64 {
    as_float(part) / as_float(whole.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "counts of tools and queries are small")]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::measure;

    #[test]
    fn each_need_counts_once_and_any_of_its_tools_meets_it() {
        let needs = [vec!["a", "a2"], vec!["b"]];
        let metrics = measure(&["x", "a2", "a", "b"], &needs);
        assert_eq!((metrics.recall_1, metrics.recall_3, metrics.recall_5), (0.0, 0.5, 1.0));
        assert_eq!(metrics.mrr_10, 0.5);
        let ideal = 1.0 + 1.0 / 3_f64.log2();
        let gain = 1.0 / 3_f64.log2() + 1.0 / 5_f64.log2();
        assert!((metrics.ndcg_10 - gain / ideal).abs() < 1e-12);
    }

    #[test]
    fn a_perfect_ranking_scores_one_and_an_empty_one_nothing() {
        let needs = [vec!["a"], vec!["b"]];
        assert!((measure(&["b", "a"], &needs).ndcg_10 - 1.0).abs() < 1e-12);
        assert_eq!(measure(&[], &needs), super::Metrics::default());
    }
}

//! Weights and thresholds of the ranking.

use super::document::Field;

/// Everything about the ranking that can be tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Weight of each field in BM25F, in the order of [`Field::ALL`].
    pub weights: [f32; Field::COUNT],
    /// Length normalisation of each field, 0 (none) to 1 (full).
    pub length_normalization: [f32; Field::COUNT],
    /// Saturation of term frequency.
    pub k1: f32,
    /// Weight of a pair of CJK characters beside a word.
    pub cjk_weight: f32,
    /// Weight of a word with the same meaning.
    pub abbreviation_weight: f32,
    /// Weight of a verb for the same deed.
    pub verb_weight: f32,
    /// Weight of an indexed word that differs from an unknown one by one letter.
    pub fuzzy_weight: f32,
    /// Weight of the English words for a Chinese one.
    pub glossary_weight: f32,
    /// Weight of the best single sentence beside the whole query.
    pub segment_weight: f32,
    /// Weight of the vectors in the fusion, where that of the keywords is 1.
    pub vector_weight: f32,
    /// Damps the first ranks in the fusion: the constant `k` of reciprocal ranks.
    pub rank_constant: f32,
    /// Coverage from which the best hit counts as certain.
    pub high_coverage: f32,
    /// Coverage below which nothing fits.
    pub low_coverage: f32,
}

impl Options {
    /// The defaults, chosen on the dev sets; `docs/design/0002-keyword-ranking.md`
    /// has what was tried.
    pub fn tuned() -> Self {
        Self {
            weights: [1.0, 2.5, 0.5, 0.6, 0.5, 0.5, 0.5],
            length_normalization: [0.0, 0.3, 0.6, 0.6, 0.6, 0.5, 0.5],
            k1: 1.2,
            cjk_weight: 0.6,
            abbreviation_weight: 0.4,
            verb_weight: 0.3,
            fuzzy_weight: 0.7,
            glossary_weight: 0.8,
            segment_weight: 0.5,
            vector_weight: 0.5,
            rank_constant: 4.0,
            high_coverage: 0.55,
            low_coverage: 0.25,
        }
    }
}

//! Offline evaluation: labelled queries over catalogues, with the very ranking
//! that `coffer__search_tools` uses.
//!
//! - `data`: the sets on disk
//! - `metrics`: recall, MRR and nDCG of one ranking
//! - `run`: a whole evaluation
//! - `record`: comparison with recorded results

mod data;
mod metrics;
mod record;
mod run;

pub use data::{DataError, EvaluationSet, Query, read_sets};
pub use metrics::{Metrics, measure};
pub use record::{Drop, Recorded, compare};
pub use run::{
    EvaluationReport, IndexReport, RankedQuery, Ranker, RankerReport, SetReport, SetVectors,
    evaluate,
};

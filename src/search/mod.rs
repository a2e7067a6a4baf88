//! From a query to a ranking. Pure CPU: no I/O, no async, no clock.
//!
//! - `options`: weights and thresholds, with where they come from
//! - `tokenize`: text to tokens
//! - `document`: a tool definition to fields
//! - `lexical`: the inverted index and its BM25F scores
//! - `exact`: names that a query types out
//! - `vector`: search by meaning
//! - `passages`: the texts that stand for tools in a search by meaning
//! - `fusion`: the rankings of both arms made one
//! - `index`: the immutable whole, and the ranking of a query

mod document;
mod exact;
mod fusion;
mod index;
mod lexical;
mod lexicon;
mod options;
mod passages;
#[cfg(test)]
mod tests;
mod tokenize;
mod vector;

pub use document::{Document, Field};
pub use fusion::{Arms, Ranks};
pub use index::{Confidence, Hit, Index, Ranking};
pub use options::Options;
pub use passages::VectorQuery;
pub use tokenize::{normalize, words};
pub use vector::{Centre, Nearest, VectorIndex, cosine};

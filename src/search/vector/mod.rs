//! Search by meaning: vectors, an HNSW graph over them, and the exact scan.
//!
//! - `centre`: what all requests share, taken out of a query
//! - `distance`: how far two vectors are apart
//! - `graph`: the HNSW graph
//! - `index`: vectors with their graph, one immutable moment of them

mod centre;
mod distance;
mod graph;
mod index;

pub use centre::Centre;
pub use distance::cosine;
pub use index::{Nearest, VectorIndex};

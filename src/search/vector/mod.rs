//! Search by meaning: vectors, an HNSW graph over them, and the exact scan.
//!
//! - `distance`: how far two vectors are apart
//! - `graph`: the HNSW graph
//! - `index`: vectors with their graph, one immutable moment of them

mod distance;
mod graph;
mod index;

pub use distance::cosine;
pub use index::{Nearest, VectorIndex};

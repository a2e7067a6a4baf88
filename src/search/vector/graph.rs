//! The HNSW graph.
//!
//! Malkov, Yashunin: "Efficient and robust approximate nearest neighbor search
//! using hierarchical navigable small world graphs" (2018). A point can be added,
//! never removed; whoever searches leaves out what is gone.

use std::fmt;

use hnsw_rs::hnsw::Hnsw;

use super::distance::Angle;
use crate::domain::Embedding;

/// Neighbours of a point in a layer; more than 256 would end the process.
const NEIGHBOURS: usize = 16;

/// Layers there may be; the library's own most.
const LAYERS: usize = 16;

/// Points looked at when one is added. Above [`MANY`] the time to build matters
/// more than the last thousandth of recall.
const BREADTH: usize = 200;
const BREADTH_OF_MANY: usize = 100;
const MANY: usize = 10_000;

/// Fewest points looked at by a search: recall is 0.998 and more from there.
const SEARCH_BREADTH: usize = 128;

/// A graph of numbered vectors.
pub(super) struct Graph(Hnsw<'static, Embedding, Angle>);

impl fmt::Debug for Graph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Graph({} points)", self.0.get_nb_point())
    }
}

impl Graph {
    /// Adds the vectors one after the other, so that the same vectors in the same
    /// order always make the same graph: its random numbers have a fixed seed.
    pub(super) fn build<'a>(vectors: impl ExactSizeIterator<Item = &'a Embedding>) -> Self {
        let breadth = if vectors.len() > MANY { BREADTH_OF_MANY } else { BREADTH };
        let room = vectors.len().max(1);
        let graph = Self(Hnsw::new(NEIGHBOURS, room, LAYERS, breadth, Angle));
        for (number, vector) in vectors.enumerate() {
            graph.add(number, vector);
        }
        graph
    }

    pub(super) fn add(&self, number: usize, vector: &Embedding) {
        self.0.insert((std::slice::from_ref(vector), number));
    }

    /// About the `count` nearest points.
    pub(super) fn nearest(&self, vector: &Embedding, count: usize) -> Vec<usize> {
        let breadth = SEARCH_BREADTH.max(4 * count);
        let found = self.0.search(std::slice::from_ref(vector), count, breadth);
        found.into_iter().map(|neighbour| neighbour.d_id).collect()
    }
}

//! Vectors with their graph: one immutable moment of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::distance::cosine;
use super::graph::Graph;
use crate::domain::{Embedding, TextDigest};

/// Share of points in a graph that are gone, or came after it was built, from
/// which a new graph is worth its time.
const STALE_SHARE: usize = 5;

/// A text that is near to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// The text.
    pub digest: TextDigest,
    /// Cosine of its vector and the query's.
    pub cosine: f32,
}

/// The vectors of a catalogue's texts.
///
/// Invariant: what a search returns is in order of the exact cosine, equal ones in
/// order of their digest, so that neither the history of the graph nor points that
/// are gone can change an order.
#[derive(Clone, Debug, Default)]
pub struct VectorIndex {
    /// By number in the graph; those that are gone keep their number.
    points: Vec<(TextDigest, Embedding)>,
    /// The number of each text that is there.
    numbers: HashMap<TextDigest, usize>,
    graph: Option<Arc<Graph>>,
    /// Points that the graph was built with.
    built: usize,
}

impl VectorIndex {
    /// Takes vectors as they are; searches scan them all until [`Self::with_graph`].
    pub fn new(vectors: impl IntoIterator<Item = (TextDigest, Embedding)>) -> Self {
        let mut points: Vec<_> = vectors.into_iter().collect();
        points.sort_unstable_by_key(|(digest, _)| *digest);
        points.dedup_by_key(|(digest, _)| *digest);
        let numbers = numbered(&points);
        Self { points, numbers, graph: None, built: 0 }
    }

    /// The same vectors with a graph over them. Takes about a second for 3,000.
    #[must_use]
    pub fn with_graph(&self) -> Self {
        let live = self.numbers.values().map(|number| self.points[*number].clone());
        let mut index = Self::new(live);
        index.graph = Some(Arc::new(Graph::build(index.points.iter().map(|(_, vector)| vector))));
        index.built = index.points.len();
        index
    }

    /// What is left when only texts in `wanted` stay, with new vectors beside them.
    /// A graph is kept and grows; [`Self::is_stale`] says when it should be built anew.
    #[must_use]
    pub fn changed(
        &self,
        is_wanted: impl Fn(&TextDigest) -> bool,
        new: impl IntoIterator<Item = (TextDigest, Embedding)>,
    ) -> Self {
        let mut index = self.clone();
        index.numbers.retain(|digest, _| is_wanted(digest));
        let mut new: Vec<_> = new.into_iter().collect();
        new.sort_unstable_by_key(|(digest, _)| *digest);
        for (digest, vector) in new {
            if index.numbers.contains_key(&digest) {
                continue;
            }
            let number = index.points.len();
            if let Some(graph) = &index.graph {
                graph.add(number, &vector);
            }
            index.points.push((digest, vector));
            index.numbers.insert(digest, number);
        }
        index
    }

    /// Whether so much has changed that a new graph is due. Each index that grew
    /// from another must be the only one to grow: numbers in the graph are given once.
    pub fn is_stale(&self) -> bool {
        let added = self.points.len() - self.built;
        let gone = self.points.len() - self.numbers.len();
        self.graph.is_none() || (added + gone) * STALE_SHARE > self.numbers.len()
    }

    /// Whether searches use a graph.
    pub fn has_graph(&self) -> bool {
        self.graph.is_some()
    }

    /// How many texts have a vector.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether no text has a vector.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether a text has a vector.
    pub fn contains(&self, digest: &TextDigest) -> bool {
        self.numbers.contains_key(digest)
    }

    /// The vector of a text.
    pub fn vector(&self, digest: &TextDigest) -> Option<&Embedding> {
        self.numbers.get(digest).map(|number| &self.points[*number].1)
    }

    /// The `count` texts that are nearest to `query`, by the graph where there is one.
    pub fn nearest(&self, query: &Embedding, count: usize) -> Vec<Nearest> {
        let Some(graph) = &self.graph else { return self.scan(query, count, &|_| true) };
        // Points that are gone take places, so that as many more are asked for.
        let gone = self.points.len() - self.numbers.len();
        let found = graph.nearest(query, (count + gone).min(2 * count + 64));
        let live = found.into_iter().filter(|number| self.is_live(*number));
        let nearest: Vec<Nearest> = live.map(|number| near(query, &self.points[number])).collect();
        if nearest.len() < count.min(self.len()) {
            return self.scan(query, count, &|_| true);
        }
        best(nearest, count)
    }

    /// The `count` texts that are nearest to `query` among those that pass, by
    /// looking at every one: filters never starve a search.
    pub fn scan(
        &self,
        query: &Embedding,
        count: usize,
        passes: &dyn Fn(&TextDigest) -> bool,
    ) -> Vec<Nearest> {
        let passing = self.numbers.iter().filter(|(digest, _)| passes(digest));
        best(passing.map(|(_, number)| near(query, &self.points[*number])).collect(), count)
    }

    /// A point that a later index of the same graph has added is not there yet.
    fn is_live(&self, number: usize) -> bool {
        let point = self.points.get(number);
        point.is_some_and(|(digest, _)| self.numbers.get(digest) == Some(&number))
    }
}

fn numbered(points: &[(TextDigest, Embedding)]) -> HashMap<TextDigest, usize> {
    points.iter().enumerate().map(|(number, (digest, _))| (*digest, number)).collect()
}

fn near(query: &Embedding, (digest, vector): &(TextDigest, Embedding)) -> Nearest {
    Nearest { digest: *digest, cosine: cosine(query, vector) }
}

fn best(mut nearest: Vec<Nearest>, count: usize) -> Vec<Nearest> {
    let order =
        |a: &Nearest, b: &Nearest| b.cosine.total_cmp(&a.cosine).then(a.digest.cmp(&b.digest));
    if nearest.len() > count && count > 0 {
        nearest.select_nth_unstable_by(count - 1, order);
    }
    nearest.truncate(count);
    nearest.sort_unstable_by(order);
    nearest
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Nearest, VectorIndex};
    use crate::domain::{Embedding, TextDigest};

    /// Vectors on the half circle: the nearer their numbers, the nearer they are.
    fn vector(number: u16) -> Embedding {
        let angle = f32::from(number) * 0.001;
        Embedding::new(vec![angle.cos(), angle.sin()])
    }

    fn digest(number: u16) -> TextDigest {
        TextDigest::of(&number.to_string())
    }

    fn index(numbers: impl IntoIterator<Item = u16>) -> VectorIndex {
        VectorIndex::new(numbers.into_iter().map(|number| (digest(number), vector(number))))
    }

    fn digests(nearest: &[Nearest]) -> Vec<TextDigest> {
        nearest.iter().map(|nearest| nearest.digest).collect()
    }

    /// Random unit vectors of 32 numbers, the same in each run.
    fn scattered(count: u32) -> Vec<(TextDigest, Embedding)> {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let top = u16::try_from(state >> 48).unwrap_or_default();
            f32::from(top) / 32_768.0 - 1.0
        };
        (0..count)
            .map(|number| {
                let numbers: Vec<f32> = (0..32).map(|_| random()).collect();
                let length = numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
                let unit = numbers.into_iter().map(|x| x / length).collect();
                (TextDigest::of(&number.to_string()), Embedding::new(unit))
            })
            .collect()
    }

    #[test]
    fn the_graph_finds_what_the_scan_finds() {
        let points = scattered(1_050);
        let index = VectorIndex::new(points[50..].to_vec()).with_graph();
        let (mut same, mut all) = (0, 0);
        for (_, query) in &points[..50] {
            let exact: HashSet<_> =
                digests(&index.scan(query, 10, &|_| true)).into_iter().collect();
            let found = digests(&index.nearest(query, 10));
            same += found.iter().filter(|digest| exact.contains(digest)).count();
            all += exact.len();
        }
        assert!(same * 100 >= all * 99, "{same} of {all}");
    }

    #[test]
    fn the_order_of_arrival_changes_no_answer() {
        let points = scattered(300);
        let turned: Vec<_> = points.iter().rev().cloned().collect();
        let (one, other) =
            (VectorIndex::new(points.clone()).with_graph(), VectorIndex::new(turned).with_graph());
        let grown = VectorIndex::new(points[..270].to_vec())
            .with_graph()
            .changed(|_| true, points[270..].to_vec());
        for (_, query) in &points[..50] {
            assert_eq!(one.nearest(query, 10), other.nearest(query, 10));
            assert_eq!(grown.nearest(query, 10), one.scan(query, 10, &|_| true));
        }
    }

    #[test]
    fn what_is_gone_is_never_found_and_what_came_is() {
        let index = index(0..200).with_graph();
        let odd: HashSet<_> = (0..200).filter(|n| n % 2 == 1).map(digest).collect();
        let changed = index.changed(|digest| odd.contains(digest), [(digest(500), vector(500))]);
        assert_eq!(changed.len(), 101);
        assert_eq!(digests(&changed.nearest(&vector(500), 1)), [digest(500)]);
        let found = digests(&changed.nearest(&vector(100), 3));
        assert!(found.contains(&digest(99)) && found.contains(&digest(101)), "{found:?}");
        assert!(found.iter().all(|digest| odd.contains(digest)));
        // The index that it grew from answers as before.
        assert_eq!(digests(&index.nearest(&vector(100), 1)), [digest(100)]);
        assert!(!index.nearest(&vector(500), 1).iter().any(|near| near.digest == digest(500)));
        assert!(!index.is_stale() && changed.is_stale());
    }

    #[test]
    fn however_many_are_asked_for_each_comes_once() {
        for count in [0, 1, 5, 50] {
            let small = index(0..5);
            for index in [small.with_graph(), small] {
                let found = digests(&index.nearest(&vector(2), count));
                let distinct: HashSet<_> = found.iter().collect();
                assert_eq!((found.len(), distinct.len()), (count.min(5), count.min(5)));
            }
        }
        assert!(VectorIndex::default().nearest(&vector(1), 5).is_empty());
    }

    #[test]
    fn a_filter_that_leaves_one_finds_that_one() {
        let index = index(0..300).with_graph();
        let only = digest(299);
        let found = index.scan(&vector(0), 5, &|digest| *digest == only);
        assert_eq!(digests(&found), [only]);
    }

    #[test]
    fn texts_with_one_vector_are_all_found_in_one_order() {
        let same = (0..100_u16).map(|number| (digest(number), vector(1)));
        let index = VectorIndex::new(same).with_graph();
        let found = digests(&index.nearest(&vector(1), 100));
        assert!(found.is_sorted() && found.len() == 100);
    }
}

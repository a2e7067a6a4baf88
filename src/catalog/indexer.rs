//! The thread that keeps the vectors in step with the catalogue: each text is
//! embedded once, whatever becomes of the process.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::state::Catalog;
use super::vector_arm::{VectorArm, Vectors};
use super::vector_store::{CHUNK, VectorError, VectorStore, Wanted};
use super::view::View;
use crate::domain::{Embedding, TextDigest, chain};
use crate::search::VectorIndex;
use crate::storage::{Database, StorageError};

/// How soon a rebuild by another process is seen.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Snapshots that a long build publishes, each a copy of the table of numbers.
const SNAPSHOTS: usize = 100;

/// Wakes the thread. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Wake(Arc<(Mutex<Due>, Condvar)>);

#[derive(Debug, Default)]
struct Due {
    is_due: bool,
    is_over: bool,
}

impl Wake {
    /// The catalogue or the model has changed.
    pub fn changed(&self) {
        self.set(|due| due.is_due = true);
    }

    /// Ends the thread after the texts at hand.
    pub fn stop(&self) {
        self.set(|due| due.is_over = true);
    }

    fn set(&self, change: impl FnOnce(&mut Due)) {
        change(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.1.notify_all();
    }

    fn is_over(&self) -> bool {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// Waits for a change, for at most [`LOOK_EVERY`]. `None` when it is over.
    fn wait(&self) -> Option<bool> {
        let due = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.0.1.wait_timeout_while(due, LOOK_EVERY, |due| !due.is_due && !due.is_over);
        let (mut due, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!due.is_over).then(|| std::mem::take(&mut due.is_due))
    }
}

/// How far an update goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effort {
    /// Every text is embedded, and the graph is built.
    Whole,
    /// At most so many texts are embedded, and searches scan: for a single search.
    AtMost(usize),
}

/// Whether an update got to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Whole,
    /// The catalogue changed in the middle, or the end came.
    Interrupted,
}

/// Keeps the vectors of `arm` in step with `catalog`.
#[derive(Debug)]
pub struct Indexer {
    catalog: Arc<Catalog>,
    arm: Arc<VectorArm>,
    database: Database,
    wake: Wake,
    /// The newest vectors, published or not: a graph grows in one line only.
    newest: Option<Vectors>,
    /// Texts that the model failed at; tried again by another model.
    failed: HashSet<TextDigest>,
    /// Why the last update failed, so that it is logged once.
    complaint: Option<String>,
}

impl Indexer {
    /// Nothing is read before the first update.
    pub fn new(catalog: Arc<Catalog>, arm: Arc<VectorArm>, database: Database, wake: Wake) -> Self {
        let (newest, failed, complaint) = (None, HashSet::new(), None);
        Self { catalog, arm, database, wake, newest, failed, complaint }
    }

    /// Starts the thread. It is not waited for at the end: what it has made is in the
    /// database, and a graph takes a while.
    pub fn start(self) -> Result<(), StorageError> {
        let run = std::thread::Builder::new().name("vectors".to_owned()).spawn(move || self.run());
        run.map(|_detached| ()).map_err(StorageError::Thread)
    }

    fn run(mut self) {
        let mut data_version = 0;
        while let Some(is_due) = self.wake.wait() {
            // A rebuild by another process shows in the version of the data.
            let version = self.database.data_version().unwrap_or_default();
            if !is_due && version == data_version {
                continue;
            }
            data_version = version;
            match self.update(Effort::Whole) {
                Ok(()) => self.complaint = None,
                Err(error) => self.complain(&error),
            }
        }
    }

    fn complain(&mut self, error: &VectorError) {
        let text = chain(error);
        // A missing model is reported by the thread that looks for it.
        if matches!(error, VectorError::Storage(_)) && self.complaint.as_ref() != Some(&text) {
            tracing::warn!("the vectors of the catalogue could not be kept: {text}");
            self.complaint = Some(text);
        }
    }

    /// Brings the vectors up to date: loads what is known, embeds the rest, and builds
    /// the graph.
    pub fn update(&mut self, effort: Effort) -> Result<(), VectorError> {
        loop {
            let view = self.catalog.view();
            match self.follow(&view, effort) {
                Ok(Outcome::Interrupted) if !self.wake.is_over() => {}
                Ok(_) => return Ok(()),
                Err(error) => {
                    if matches!(error, VectorError::Unavailable(_)) {
                        self.newest = None;
                        self.failed.clear();
                        self.arm.publish(None);
                    }
                    return Err(error);
                }
            }
        }
    }

    fn follow(&mut self, view: &Arc<View>, effort: Effort) -> Result<Outcome, VectorError> {
        let arm = self.arm.clone();
        let mut store = VectorStore::open(&mut self.database, arm.worker())?;
        let is_same_model =
            self.newest.as_ref().is_some_and(|old| old.fingerprint == *store.fingerprint());
        let is_same = is_same_model
            && self.newest.as_ref().map(|old| old.generation) == Some(store.generation());
        if !is_same {
            self.failed.clear();
        }
        let passages: BTreeMap<TextDigest, &str> = view.passages().collect();
        let mut next = match self.newest.take_if(|_| is_same) {
            Some(mut newest) => {
                newest.index = newest.index.changed(|digest| passages.contains_key(digest), []);
                newest
            }
            None => Vectors {
                fingerprint: store.fingerprint().clone(),
                generation: store.generation(),
                index: VectorIndex::default(),
                centre: store.centre()?,
                missing: 0,
            },
        };
        let digests: Vec<TextDigest> =
            passages.keys().filter(|digest| !next.index.contains(digest)).copied().collect();
        let known = store.known(&digests)?;
        next.add(known);
        let mut lacking: Vec<Wanted> = passages
            .iter()
            .filter(|(digest, _)| !next.index.contains(digest) && !self.failed.contains(digest))
            .map(|(digest, passage)| store.passage(*digest, passage))
            .collect();
        next.missing = passages.len() - next.index.len();
        // Several gateways that start together begin at different texts.
        let first = usize::try_from(std::process::id()).unwrap_or_default() % lacking.len().max(1);
        lacking.rotate_left(first);
        if let Effort::AtMost(most) = effort {
            lacking.truncate(most);
        }
        // The snapshot of an earlier generation answers until this one is whole.
        let is_shown = is_same || !is_same_model;
        if is_shown {
            arm.publish(Some(next.clone()));
        }
        let pace = CHUNK.max(lacking.len() / SNAPSHOTS);
        for chunk in lacking.chunks(pace) {
            if self.wake.is_over() || !Arc::ptr_eq(&self.catalog.view(), view) {
                self.newest = Some(next);
                return Ok(Outcome::Interrupted);
            }
            let made = store.fill(chunk)?;
            next.add(made);
            self.failed.extend(
                chunk.iter().map(|text| text.digest).filter(|text| !next.index.contains(text)),
            );
            next.missing = passages.len() - next.index.len();
            if is_shown {
                arm.publish(Some(next.clone()));
            }
        }
        if effort == Effort::Whole && next.index.is_stale() {
            next.index = next.index.with_graph();
        }
        arm.publish(Some(next.clone()));
        self.newest = Some(next);
        let wanted: HashSet<TextDigest> =
            passages.into_keys().chain(store.requests().into_iter().map(|r| r.digest)).collect();
        store.prune(&wanted)?;
        Ok(Outcome::Whole)
    }
}

impl Vectors {
    fn add(&mut self, vectors: Vec<(TextDigest, Embedding)>) {
        self.index = if self.index.is_empty() && !self.index.has_graph() {
            VectorIndex::new(vectors)
        } else {
            self.index.changed(|_| true, vectors)
        };
    }
}

//! Search by meaning as a gateway holds it: the vectors of one moment, and the
//! model that turns a query into one.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use serde::Serialize;

use crate::domain::Embedding;
use crate::embedding::{EmbedWorker, ModelState};
use crate::search::{Centre, VectorIndex};

/// Longest wait for a query's vector. Encoding takes some 10 ms; what is not there by
/// then is not worth the wait.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// The vectors of one moment. Replaced whole.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// Fingerprint of the model that made them.
    pub fingerprint: Arc<str>,
    /// Counts the rebuilds of the model's vectors.
    pub generation: i64,
    /// The vectors of the catalogue's texts.
    pub index: VectorIndex,
    /// What is taken out of a query.
    pub centre: Centre,
    /// Texts of the catalogue that have no vector yet.
    pub missing: usize,
}

/// A query as a vector, with the vectors that it can be compared with.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// The query's vector, without what all requests share.
    pub query: Embedding,
    /// The vectors of the moment.
    pub vectors: Arc<Vectors>,
}

/// What there is of search by meaning, for people and programs.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct VectorStatus {
    /// Whether queries are answered with it.
    pub ready: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Texts that have a vector.
    pub vectors: usize,
    /// Texts that have none yet.
    pub missing: usize,
    /// Whether the graph answers, or the exact scan in its place.
    pub graph: bool,
    /// Texts embedded since the start, queries among them.
    pub embedded: u64,
}

/// The vector arm of a gateway.
#[derive(Debug)]
pub struct VectorArm {
    worker: EmbedWorker,
    vectors: ArcSwapOption<Vectors>,
}

impl VectorArm {
    /// An arm without vectors yet.
    pub fn new(worker: EmbedWorker) -> Arc<Self> {
        Arc::new(Self { worker, vectors: ArcSwapOption::empty() })
    }

    /// What embeds.
    pub fn worker(&self) -> &EmbedWorker {
        &self.worker
    }

    /// The vectors of this moment.
    pub fn vectors(&self) -> Option<Arc<Vectors>> {
        self.vectors.load_full()
    }

    /// Swaps in the vectors of another moment; none when no model serves.
    pub(super) fn publish(&self, vectors: Option<Vectors>) {
        self.vectors.store(vectors.map(Arc::new));
    }

    /// Turns a query into its vector. The error says why search is by keyword alone.
    pub async fn embed(&self, query: &str) -> Result<Meaning, String> {
        let Some(vectors) = self.vectors() else { return Err(self.reason()) };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let until = tokio::time::Instant::now() + PATIENCE;
        self.worker.query(query, until.into_std(), move |answer| {
            let _nobody_waits_any_more = sender.send(answer);
        });
        let answered = tokio::time::timeout_at(until, receiver).await;
        let late = || format!("the model has not answered within {} ms", PATIENCE.as_millis());
        let found = answered.map_err(|_| late())?.map_err(|_| late())?.map_err(|error| error.0)?;
        if found.fingerprint != vectors.fingerprint {
            return Err("the model has just been replaced".to_owned());
        }
        Ok(Meaning { query: vectors.centre.centred(&found.vector), vectors })
    }

    /// What there is of it.
    pub fn status(&self) -> VectorStatus {
        let vectors = self.vectors();
        let model = match self.worker.model() {
            ModelState::Ready(description) => Some(description.name.clone()),
            ModelState::Loading | ModelState::Unavailable(_) => None,
        };
        VectorStatus {
            ready: vectors.is_some(),
            reason: vectors.is_none().then(|| self.reason()),
            model,
            vectors: vectors.as_ref().map_or(0, |vectors| vectors.index.len()),
            missing: vectors.as_ref().map_or(0, |vectors| vectors.missing),
            graph: vectors.as_ref().is_some_and(|vectors| vectors.index.has_graph()),
            embedded: self.worker.embedded(),
        }
    }

    fn reason(&self) -> String {
        match self.worker.model() {
            ModelState::Loading => "the model is being loaded".to_owned(),
            ModelState::Unavailable(reason) => reason,
            ModelState::Ready(_) => "the vectors are not there yet".to_owned(),
        }
    }
}

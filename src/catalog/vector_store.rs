//! The vectors of one model: from the database, or made and kept there.

use std::collections::HashSet;
use std::sync::Arc;

use thiserror::Error;

use crate::domain::{Embedding, TextDigest};
use crate::embedding::{Description, EmbedWorker, ModelState, Unavailable};
use crate::search::Centre;
use crate::storage::{Database, StorageError, StoredModel};
use crate::sys::now_ms;

/// Texts embedded and kept together: little is lost when the process is killed.
pub const CHUNK: usize = 8;

/// Why there are no vectors.
#[derive(Debug, Error)]
pub enum VectorError {
    /// The database refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is no model, or it failed: a sentence.
    #[error("{0}")]
    Unavailable(String),
}

impl From<Unavailable> for VectorError {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable.0)
    }
}

/// A text that is to be embedded.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Wanted {
    /// Stands for the text.
    pub digest: TextDigest,
    /// The text as the model gets it.
    pub text: String,
}

/// The vectors of one model.
#[derive(Debug)]
pub struct VectorStore<'a> {
    database: &'a mut Database,
    worker: &'a EmbedWorker,
    model: StoredModel,
    fingerprint: Arc<str>,
    description: Arc<Description>,
}

impl<'a> VectorStore<'a> {
    /// The vectors of the model that is ready now.
    pub fn open(database: &'a mut Database, worker: &'a EmbedWorker) -> Result<Self, VectorError> {
        let description = match worker.model() {
            ModelState::Ready(description) => description,
            ModelState::Loading => {
                return Err(VectorError::Unavailable("the model is being loaded".to_owned()));
            }
            ModelState::Unavailable(reason) => return Err(VectorError::Unavailable(reason)),
        };
        let fingerprint: Arc<str> = description.fingerprint().into();
        let model = database.model(&fingerprint, description.dimension, now_ms())?;
        Ok(Self { database, worker, model, fingerprint, description })
    }

    /// The model's fingerprint.
    pub fn fingerprint(&self) -> &Arc<str> {
        &self.fingerprint
    }

    /// Counts the complete rebuilds of these vectors.
    pub fn generation(&self) -> i64 {
        self.model.generation
    }

    /// The text of a tool as the model wants it.
    pub fn passage(&self, digest: TextDigest, passage: &str) -> Wanted {
        Wanted { digest, text: format!("{}{passage}", self.description.passage_prefix) }
    }

    /// The requests that every model embeds to know what queries share.
    pub fn requests(&self) -> Vec<Wanted> {
        Centre::requests().into_iter().flatten().map(|request| self.request(request)).collect()
    }

    /// What is taken out of each query of this model.
    pub fn centre(&mut self) -> Result<Centre, VectorError> {
        let mut languages = Vec::new();
        for requests in Centre::requests() {
            let wanted: Vec<Wanted> =
                requests.into_iter().map(|request| self.request(request)).collect();
            let vectors = self.fill(&wanted)?;
            languages.push(vectors.into_iter().map(|(_, vector)| vector).collect());
        }
        Ok(Centre::new(&languages))
    }

    /// Whether a rebuild has begun and not ended.
    pub fn is_rebuilding(&self) -> bool {
        self.model.rebuilding.is_some()
    }

    /// Bytes of this model's vectors.
    pub fn size(&self) -> Result<u64, VectorError> {
        Ok(self.database.size_of_embeddings(&self.model)?)
    }

    /// A request as the model wants it.
    pub fn request(&self, request: &str) -> Wanted {
        // Never the digest of a tool's text, which may have another prefix.
        let digest = TextDigest::of(&format!("query\0{request}"));
        Wanted { digest, text: format!("{}{request}", self.description.query_prefix) }
    }

    /// Those of `digests` that are in the database.
    pub fn known(
        &self,
        digests: &[TextDigest],
    ) -> Result<Vec<(TextDigest, Embedding)>, VectorError> {
        Ok(self.database.embeddings(&self.model, digests)?)
    }

    /// The vectors of `texts`: embeds those that neither this process nor another has
    /// embedded before. Those that the model fails at are missing from the answer.
    pub fn fill(&mut self, texts: &[Wanted]) -> Result<Vec<(TextDigest, Embedding)>, VectorError> {
        let digests: Vec<TextDigest> = texts.iter().map(|wanted| wanted.digest).collect();
        let mut vectors = self.known(&digests)?;
        let known: HashSet<TextDigest> = vectors.iter().map(|(digest, _)| *digest).collect();
        let left: Vec<Wanted> =
            texts.iter().filter(|wanted| !known.contains(&wanted.digest)).cloned().collect();
        vectors.extend(self.make(&left, self.model.generation)?);
        Ok(vectors)
    }

    fn make(
        &mut self,
        texts: &[Wanted],
        generation: i64,
    ) -> Result<Vec<(TextDigest, Embedding)>, VectorError> {
        let mut made = Vec::with_capacity(texts.len());
        for chunk in texts.chunks(CHUNK) {
            let vectors = self.embed(chunk)?;
            self.database.keep_embeddings(&self.model, generation, &vectors)?;
            made.extend(vectors);
        }
        Ok(made)
    }

    fn embed(&self, chunk: &[Wanted]) -> Result<Vec<(TextDigest, Embedding)>, VectorError> {
        let texts = |chunk: &[Wanted]| chunk.iter().map(|wanted| wanted.text.clone()).collect();
        let failed = match self.worker.embed(texts(chunk), &self.fingerprint) {
            Ok(vectors) => {
                return Ok(chunk.iter().map(|wanted| wanted.digest).zip(vectors).collect());
            }
            Err(reason) => reason,
        };
        if self.worker.fingerprint().as_ref() != Some(&self.fingerprint) || self.worker.is_over() {
            return Err(failed.into());
        }
        // One bad text must not take its neighbours with it.
        let mut vectors = Vec::new();
        for wanted in chunk {
            match self.worker.embed(texts(std::slice::from_ref(wanted)), &self.fingerprint) {
                Ok(embedded) => vectors.extend(embedded.into_iter().map(|v| (wanted.digest, v))),
                Err(reason) => {
                    tracing::warn!(text = ?wanted.digest, "a text has no vector: {reason}");
                }
            }
        }
        Ok(vectors)
    }

    /// Embeds all of `texts` anew, or what an earlier rebuild that was cut short has
    /// left of them. `advanced` is told how many are done. Gateways that run use the
    /// old vectors until the end.
    pub fn rebuild(
        &mut self,
        texts: &[Wanted],
        advanced: &mut dyn FnMut(usize),
    ) -> Result<Rebuilt, VectorError> {
        let (generation, done) = self.database.begin_rebuild(&self.model)?;
        let left: Vec<Wanted> =
            texts.iter().filter(|wanted| !done.contains(&wanted.digest)).cloned().collect();
        let resumed = texts.len() - left.len();
        advanced(resumed);
        let mut embedded = 0;
        for (number, chunk) in left.chunks(CHUNK).enumerate() {
            embedded += self.make(chunk, generation)?.len();
            advanced(resumed + left.len().min((number + 1) * CHUNK));
        }
        self.database.end_rebuild(&self.model, generation)?;
        self.model.generation = generation;
        Ok(Rebuilt { resumed, embedded, failed: left.len() - embedded })
    }

    /// Forgets what is long unused.
    pub fn prune(&mut self, wanted: &HashSet<TextDigest>) -> Result<(), VectorError> {
        Ok(self.database.prune_embeddings(&self.model, wanted, now_ms())?)
    }
}

/// What a rebuild did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rebuilt {
    /// Texts that an earlier rebuild had embedded.
    pub resumed: usize,
    /// Texts embedded now.
    pub embedded: usize,
    /// Texts that the model failed at.
    pub failed: usize,
}

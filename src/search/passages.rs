//! What stands for each tool in a search by meaning.

use std::collections::HashMap;

use super::document::Document;
use super::fusion::{FUSED_DEPTH, Scored};
use super::vector::{VectorIndex, cosine};
use crate::domain::{Embedding, TextDigest};

/// A query as a vector, and the vectors that it is compared with.
#[derive(Clone, Copy, Debug)]
pub struct VectorQuery<'a> {
    /// The query, without what all requests share.
    pub query: &'a Embedding,
    /// The vectors of the tools' texts; some may be missing, others left over.
    pub vectors: &'a VectorIndex,
}

/// The texts of the tools. Several tools may share one.
#[derive(Debug, Default)]
pub(super) struct Passages {
    /// By tool.
    digests: Vec<TextDigest>,
    texts: HashMap<TextDigest, Passage>,
}

#[derive(Debug)]
struct Passage {
    text: Box<str>,
    /// The tools, in order.
    documents: Vec<usize>,
}

impl Passages {
    pub(super) fn of(documents: &[Document]) -> Self {
        let mut passages = Self::default();
        for (number, document) in documents.iter().enumerate() {
            let text = document.passage();
            let digest = TextDigest::of(&text);
            passages.digests.push(digest);
            let unknown = || Passage { text: text.into(), documents: Vec::new() };
            passages.texts.entry(digest).or_insert_with(unknown).documents.push(number);
        }
        passages
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = (TextDigest, &str)> {
        self.texts.iter().map(|(digest, passage)| (*digest, &*passage.text))
    }

    /// The tools that are nearest in meaning: by the graph where nothing is left out,
    /// else by looking at each that passes.
    pub(super) fn nearest(
        &self,
        arm: VectorQuery<'_>,
        passes: Option<&dyn Fn(usize) -> bool>,
    ) -> Scored {
        let mut found = Vec::new();
        if passes.is_none() {
            found = arm.vectors.nearest(arm.query, FUSED_DEPTH);
            // The vectors may be older than these texts, or newer.
            found.retain(|near| self.texts.contains_key(&near.digest));
        }
        if found.len() < FUSED_DEPTH.min(self.texts.len()) {
            let is_wanted = |digest: &TextDigest| {
                let mut documents = self.documents(digest).iter();
                documents.any(|document| passes.is_none_or(|passes| passes(*document)))
            };
            found = arm.vectors.scan(arm.query, FUSED_DEPTH, &is_wanted);
        }
        found
            .into_iter()
            .flat_map(|near| self.documents(&near.digest).iter().map(move |at| (*at, near.cosine)))
            .filter(|(document, _)| passes.is_none_or(|passes| passes(*document)))
            .collect()
    }

    /// The cosine of a tool; nothing when it has no vector yet.
    pub(super) fn cosine(&self, arm: VectorQuery<'_>, document: usize) -> Option<f32> {
        let vector = arm.vectors.vector(self.digests.get(document)?)?;
        Some(cosine(arm.query, vector))
    }

    fn documents(&self, digest: &TextDigest) -> &[usize] {
        self.texts.get(digest).map(|passage| passage.documents.as_slice()).unwrap_or_default()
    }
}

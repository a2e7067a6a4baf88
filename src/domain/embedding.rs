//! The vector of a text, and what it is kept under.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// A vector of length 1. Cheap to clone.
#[derive(Clone, PartialEq)]
pub struct Embedding(Arc<[f32]>);

impl Embedding {
    /// Takes the numbers of a vector, whose length must be 1.
    pub fn new(numbers: Vec<f32>) -> Self {
        Self(numbers.into())
    }

    /// The numbers as little-endian bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// Reads what [`Self::to_bytes`] wrote. Nothing when it is no vector of
    /// `dimension` numbers and length 1.
    pub fn from_bytes(bytes: &[u8], dimension: usize) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        let numbers: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
        let length = numbers.iter().map(|number| number * number).sum::<f32>();
        let is_sound = rest.is_empty() && numbers.len() == dimension && (length - 1.0).abs() < 1e-2;
        is_sound.then(|| Self::new(numbers))
    }

    /// The numbers.
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Embedding({} numbers)", self.0.len())
    }
}

/// Stands for a text that is embedded: the first half of its SHA-256.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TextDigest(pub [u8; 16]);

impl TextDigest {
    /// The digest of `text`, without a model's prefix.
    pub fn of(text: &str) -> Self {
        let hash = Sha256::digest(text.as_bytes());
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash[..16]);
        Self(digest)
    }
}

impl fmt::Debug for TextDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

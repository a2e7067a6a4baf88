//! The pinned model's tokenizer in little memory.
//!
//! The ordinary tokenizer of the field keeps 250,000 pieces as strings in two
//! tables: 284 MiB. Here they stand in a finite-state transducer of a few MiB.
//! The tokens are the same; `tests` holds the two against each other.
//!
//! - `normalize`: text as the model was taught to see it
//! - `vocabulary`: pieces with their scores
//! - `unigram`: the best cut of a word into pieces

mod normalize;
mod unigram;
mod vocabulary;

pub(super) use normalize::{REMOVED, SPACES};
pub(super) use unigram::tokenize;
pub use vocabulary::VocabularyError;
pub(super) use vocabulary::{SPECIAL, Vocabulary, pack};

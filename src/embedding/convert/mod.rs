//! From the pinned package's own weight file to ordinary model files.
//!
//! - `weights`: reads the package's file, trusting nothing in it
//! - `protobuf`: the part of the ONNX format that is written
//! - `graph`: the network as ONNX operators
//! - `tokenizer`: tokenizer files, ordinary and compact

mod graph;
mod protobuf;
#[cfg(test)]
mod tests;
mod tokenizer;
mod weights;

use std::fs;
use std::io;
use std::path::Path;

use thiserror::Error;

pub use weights::{WeightsError, read_weights};

/// Why the package's file could not be converted.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// The file is not what it should be.
    #[error("the weight file is damaged")]
    Weights(#[from] WeightsError),
    /// The files cannot be written.
    #[error("the converted files cannot be written")]
    Write(#[from] io::Error),
    /// The vocabulary cannot be packed.
    #[error("the vocabulary cannot be packed")]
    Vocabulary(#[from] fst::Error),
    /// A file cannot be put in words.
    #[error("the tokenizer files cannot be written")]
    Json(#[from] serde_json::Error),
}

/// The network, beside which its large tensors stand.
pub(super) const MODEL: &str = "model.onnx";

/// The large tensors, which the runtime maps into memory.
pub(super) const TENSORS: &str = "model.onnx_data";

/// The compact vocabulary.
pub(super) const VOCABULARY: &str = "vocabulary.bin";

/// The tokenizer as the field's tools read it.
pub(super) const TOKENIZER: [&str; 4] =
    ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// Writes the files of a model into `folder`, always the same bytes for the same
/// `weights`.
pub(super) fn convert(weights: &[u8], folder: &Path) -> Result<(), ConvertError> {
    let weights = read_weights(weights)?;
    let (model, tensors) = graph::network(&weights)?;
    fs::write(folder.join(MODEL), model)?;
    fs::write(folder.join(TENSORS), tensors)?;
    fs::write(folder.join(VOCABULARY), tokenizer::vocabulary(&weights)?)?;
    for (name, text) in TOKENIZER.into_iter().zip(tokenizer::ordinary(&weights)?) {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

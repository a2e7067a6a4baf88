//! Texts to vectors: fastembed on the ONNX Runtime.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use thiserror::Error;
use tokenizers::models::wordlevel::WordLevel;

use super::convert::{MODEL, TENSORS, TOKENIZER, VOCABULARY};
use super::description::{Description, DescriptionError, Pooling};
use super::runtime::{RuntimeError, load_runtime};
use super::tokenizer::{Vocabulary, VocabularyError, tokenize};
use crate::domain::Embedding;

/// How far from 1 the length of a vector may be.
const UNIT: f32 = 1e-3;

/// Why a model cannot be used, or a text not be embedded.
#[derive(Debug, Error)]
pub enum EmbedError {
    /// The model's files are not in order.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The runtime is not in order.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The compact vocabulary is not in order.
    #[error("`{path}`")]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: VocabularyError,
    },
    /// The model was refused.
    #[error("the model in `{path}` cannot be loaded: {reason}")]
    Refused {
        /// Its folder.
        path: PathBuf,
        /// What was said.
        reason: String,
    },
    /// The model failed at a text.
    #[error("the model failed: {0}")]
    Failed(String),
    /// The model gave something that is no unit vector.
    #[error("the model gave no vector of {expected} numbers and length 1, but {found}")]
    NoVector {
        /// Numbers of a vector.
        expected: usize,
        /// What it gave.
        found: String,
    },
}

/// What turns texts into vectors.
pub trait Embedder: Send {
    /// The vectors of `texts`, in their order; each has length 1.
    fn embed(&mut self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError>;

    /// The model.
    fn description(&self) -> &Description;
}

/// A model that is loaded.
pub struct OnnxEmbedder {
    model: TextEmbedding,
    vocabulary: Option<Vocabulary>,
    description: Description,
}

impl std::fmt::Debug for OnnxEmbedder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OnnxEmbedder").field("model", &self.description.name).finish()
    }
}

/// Which tokenizer serves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tokenizing {
    /// The compact one where the model has one, else the ordinary one.
    Compact,
    /// The ordinary one of the field: 280 MiB more, the same tokens.
    Ordinary,
}

impl OnnxEmbedder {
    /// Loads the model in `folder` with the library `runtime`, to run on `threads`
    /// threads. Every file is checked against its checksum first.
    pub fn load(
        folder: &Path,
        runtime: &Path,
        threads: usize,
        tokenizing: Tokenizing,
    ) -> Result<Self, EmbedError> {
        let description = Description::read(folder)?;
        description.verify(folder)?;
        Self::load_described(folder, runtime, threads, (tokenizing, description))
    }

    pub(super) fn load_described(
        folder: &Path,
        runtime: &Path,
        threads: usize,
        (tokenizing, description): (Tokenizing, Description),
    ) -> Result<Self, EmbedError> {
        load_runtime(runtime)?;
        let path = folder.join(VOCABULARY);
        let vocabulary = if tokenizing == Tokenizing::Compact && path.exists() {
            let read = Vocabulary::read(&read(&path)?);
            Some(read.map_err(|source| EmbedError::Vocabulary { path, source })?)
        } else {
            None
        };
        let model = UserDefinedEmbeddingModel::new(
            read(&folder.join(MODEL))?,
            tokenizer_files(folder, vocabulary.is_some())?,
        )
        .with_pooling(match description.pooling {
            Pooling::Mean => fastembed::Pooling::Mean,
            Pooling::Cls => fastembed::Pooling::Cls,
        });
        let refused = |reason: String| EmbedError::Refused { path: folder.to_owned(), reason };
        let mut options = InitOptionsUserDefined::new()
            .with_max_length(description.longest_input)
            .with_intra_threads(threads)
            // A thread that waits by spinning takes a core from everybody else.
            .with_session_config("session.intra_op.allow_spinning", "0");
        if folder.join(TENSORS).exists() {
            // The runtime maps the tensors from there instead of copying them.
            let folder = folder.canonicalize().map_err(|error| refused(error.to_string()))?;
            options = options.with_session_config(
                "session.model_external_initializers_file_folder_path",
                folder.to_string_lossy(),
            );
        }
        let loaded = catch_unwind(AssertUnwindSafe(|| {
            TextEmbedding::try_new_from_user_defined(model, options)
        }));
        let model = match loaded {
            Ok(Ok(model)) => model,
            Ok(Err(error)) => return Err(refused(error.to_string())),
            Err(_) => return Err(refused("loading it has panicked".to_owned())),
        };
        Ok(Self { model, vocabulary, description })
    }

    /// The numbers of `text`'s tokens, as the model sees them.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>, EmbedError> {
        match &self.vocabulary {
            Some(vocabulary) => Ok(tokenize(vocabulary, text, self.description.longest_input)),
            None => {
                let encoded = self.model.tokenizer.encode(text, true);
                let encoded = encoded.map_err(|error| EmbedError::Failed(error.to_string()))?;
                Ok(encoded.get_ids().to_vec())
            }
        }
    }

    /// The length of the vectors that the model gives.
    pub(super) fn measure(&mut self, text: &str) -> Result<usize, EmbedError> {
        Ok(self.vector(text)?.len())
    }

    /// One text at a time: a batch is no faster on a processor, needs more memory,
    /// and makes a query wait for longer.
    fn embed_one(&mut self, text: &str) -> Result<Embedding, EmbedError> {
        let vector = self.vector(text)?;
        let expected = self.description.dimension;
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        let found = if vector.len() != expected {
            format!("{} numbers", vector.len())
        } else if length.is_nan() || (length - 1.0).abs() > UNIT {
            format!("length {length}")
        } else {
            return Ok(Embedding::new(vector));
        };
        Err(EmbedError::NoVector { expected, found })
    }

    fn vector(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let text = match &self.vocabulary {
            Some(_) => self.numbered(text)?,
            None => text.to_owned(),
        };
        let model = &mut self.model;
        match catch_unwind(AssertUnwindSafe(|| model.embed([text], Some(1)))) {
            Ok(Ok(vectors)) => Ok(vectors.into_iter().next().unwrap_or_default()),
            Ok(Err(error)) => Err(EmbedError::Failed(error.to_string())),
            Err(_) => Err(EmbedError::Failed("it has panicked".to_owned())),
        }
    }

    /// Tokenizes `text` here and hands fastembed the numbers: its tokenizer then
    /// knows nothing but the numbers of this text, each spelled as itself.
    fn numbered(&mut self, text: &str) -> Result<String, EmbedError> {
        let tokens = self.tokens(text)?;
        let known = tokens.iter().map(|token| (token.to_string(), *token)).collect();
        let words: Vec<String> = tokens.iter().map(ToString::to_string).collect();
        let numbers = WordLevel::builder()
            .vocab(known)
            .unk_token(UNKNOWN.to_owned())
            .build()
            .map_err(|error| EmbedError::Failed(error.to_string()))?;
        self.model.tokenizer.with_model(numbers);
        Ok(words.join(" "))
    }
}

impl Embedder for OnnxEmbedder {
    fn embed(&mut self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        texts.iter().map(|text| self.embed_one(text)).collect()
    }

    fn description(&self) -> &Description {
        &self.description
    }
}

/// Never looked up: every word of a numbered text is known.
const UNKNOWN: &str = "unknown";

/// What fastembed wants to know of the tokenizer.
fn tokenizer_files(folder: &Path, is_numbered: bool) -> Result<TokenizerFiles, EmbedError> {
    let [tokenizer, config, special, settings] = TOKENIZER;
    if is_numbered {
        // Words are numbers already, with the marks of begin and end among them.
        let tokenizer = serde_json::json!({
            "version": "1.0", "added_tokens": [],
            "pre_tokenizer": { "type": "WhitespaceSplit" },
            "model": { "type": "WordLevel", "vocab": { UNKNOWN: 0 }, "unk_token": UNKNOWN }
        });
        return Ok(TokenizerFiles {
            tokenizer_file: tokenizer.to_string().into_bytes(),
            config_file: read(&folder.join(config))?,
            special_tokens_map_file: b"{}".to_vec(),
            tokenizer_config_file: read(&folder.join(settings))?,
        });
    }
    Ok(TokenizerFiles {
        tokenizer_file: read(&folder.join(tokenizer))?,
        config_file: read(&folder.join(config))?,
        special_tokens_map_file: read(&folder.join(special))?,
        tokenizer_config_file: read(&folder.join(settings))?,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, EmbedError> {
    fs::read(path).map_err(|source| {
        EmbedError::Description(DescriptionError::Unreadable { path: path.to_owned(), source })
    })
}

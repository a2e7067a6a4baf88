//! The database file `coffer.db`. Synchronous; SQL lives here only.
//!
//! - `open`: opens, checks and migrates the file
//! - `registry`: servers and switches
//! - `manifests`: what servers offered when last listed
//! - `calls`: the invocation log
//! - `embeddings`: vectors, by model and digest of the text

mod calls;
mod embeddings;
mod manifests;
mod open;
mod registry;

pub use calls::{CallFilter, LoggedCall};
pub use embeddings::StoredModel;
pub use manifests::StoredManifest;
pub use open::{Database, JournalMode, OpenDatabaseError, StorageError};
pub use registry::{Registry, ServerState};

//! Keeps servers, their tools and the index in step, and swaps in each new view whole.
//!
//! - `state`: what is known of each server, and the task that builds views
//! - `view`: the immutable whole that lists, routes and searches
//! - `listing`: the serialised lists, made once a view
//! - `keeper`: the thread between the gateway and the registry on disk
//! - `vector_arm`: search by meaning as a gateway holds it
//! - `vector_store`: the vectors of one model, from the database or made
//! - `indexer`: the thread that keeps vectors in step with the catalogue
//! - `call_log`: the invocation log, written in batches off the call path

mod call_log;
mod indexer;
mod keeper;
mod listing;
mod state;
mod vector_arm;
mod vector_store;
mod view;

pub use call_log::{CallLog, CallLogWriter, Retention};
pub use indexer::{Effort, Indexer, Wake};
pub use keeper::{Keeper, KeeperThread, Snapshot};
pub use state::{Catalog, Changes, KnownServer, OwnTools};
pub use vector_arm::{Meaning, VectorArm, VectorStatus, Vectors};
pub use vector_store::{CHUNK, Rebuilt, VectorError, VectorStore, Wanted};
pub use view::{Route, Search, SearchFilter, Switch, View};

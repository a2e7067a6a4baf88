//! Keeps servers, their tools and the index in step, and swaps in each new view whole.
//!
//! - `state`: what is known of each server, and the task that builds views
//! - `view`: the immutable whole that lists, routes and searches
//! - `listing`: the serialised lists, made once a view
//! - `keeper`: the thread between the gateway and the registry on disk
//! - `call_log`: the invocation log, written in batches off the call path

mod call_log;
mod keeper;
mod listing;
mod state;
mod view;

pub use call_log::{CallLog, CallLogWriter, Retention};
pub use keeper::{Keeper, KeeperThread, Snapshot};
pub use state::{Catalog, Changes, KnownServer, OwnTools};
pub use view::{Route, Search, SearchFilter, Switch, View};

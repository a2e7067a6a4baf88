//! Upstream servers: connections over stdio and HTTP, kept up and listed.
//!
//! - `connection`: requests and answers, whatever carries them
//! - `pending`: requests that wait for their answer
//! - `process`: the child process of a stdio server
//! - `http`: the client side of Streamable HTTP; `sse`: its event streams
//! - `listing`: all pages of all lists
//! - `backoff`: when to try again
//! - `state`: where one server stands; `supervise`: keeps it connected
//! - `fleet`: all of them

mod backoff;
mod connection;
mod environment;
mod error;
mod fleet;
mod http;
mod http_error;
mod listing;
mod pending;
mod process;
mod ring;
mod sse;
mod state;
mod supervise;

pub(super) use connection::Limits;
pub use environment::Environment;
pub use error::{RequestError, StartError};
pub use fleet::{Fleet, FleetParts, OnManifest, OnState};
pub(super) use pending::ProgressSink;
pub use state::{ListingState, Phase, Upstream, UpstreamReport};

//! The HTTP front: routes, checks, status codes.
//!
//! - `routes`: which path does what
//! - `access`: who may ask: host, origin and token
//! - `mcp`: Streamable HTTP, the server side
//! - `sessions`: the sessions of clients
//! - `stream`: event streams to a client
//! - `status`: what the command line asks of a running gateway

mod access;
mod mcp;
mod routes;
mod sessions;
mod status;
mod stream;

pub use access::{Access, new_secret};
pub use routes::serve;
pub use sessions::Front;

//! MCP both ways: upstream connections, and the server that clients see.
//!
//! - `wire`: JSON-RPC over raw JSON
//! - `upstream`: the servers behind the gateway
//! - `downstream`: sessions, and what is done for each message of a client
//! - `builtin`: Coffer's own tools
//! - `settings`: limits

mod builtin;
mod downstream;
mod settings;
mod upstream;
mod wire;

pub use builtin::{KeptSearch, SEARCH_TOOLS, definitions};
pub use downstream::{Gateway, Hold, Outlet, Session, serve_stdio};
pub use settings::{GatewaySettings, LATEST_PROTOCOL_VERSION, PROTOCOL_VERSIONS};
pub use upstream::{
    Environment, Fleet, FleetParts, ListingState, OnManifest, OnState, Phase, RequestError,
    StartError, Upstream, UpstreamReport,
};
pub use wire::{Outbox, code, error, response};

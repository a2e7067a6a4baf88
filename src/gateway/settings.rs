//! Time limits and sizes of the gateway.

use std::time::Duration;

/// What the gateway allows; `config` fills it in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GatewaySettings {
    /// From starting a server to the end of the handshake.
    pub start_timeout: Duration,
    /// For one page of a list.
    pub list_timeout: Duration,
    /// For a call; restarted by progress.
    pub call_timeout: Duration,
    /// For a call with progress, all in all.
    pub longest_call: Duration,
    /// Most servers that start at the same time.
    pub parallel_starts: usize,
    /// Largest message, in bytes.
    pub largest_message: usize,
    /// How long a change of a list waits for more before it is acted on.
    pub debounce: Duration,
    /// How long a session over HTTP may be silent.
    pub session_idle: Duration,
    /// Most sessions over HTTP at the same time.
    pub most_sessions: usize,
}

/// Most pages of one list; a server that pages on for ever is cut here.
pub(super) const MOST_PAGES: usize = 100;

/// What a server gets at each step of being stopped.
pub(super) const STOP_GRACE: Duration = Duration::from_millis(1500);

/// Revisions of the protocol that are spoken, oldest first.
pub const PROTOCOL_VERSIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revision that is offered and asked for.
pub const LATEST_PROTOCOL_VERSION: &str = "2025-11-25";

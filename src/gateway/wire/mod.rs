//! JSON-RPC over raw JSON: envelopes are opened one level, everything below
//! stays the bytes that came.
//!
//! - `message`: one envelope, and the messages in a line
//! - `framing`: lines from a byte stream
//! - `oversize`: the id of a message that is too large to be kept
//! - `outbox`: messages to a byte stream, whole and in order
//! - `answer`: responses and errors as text

mod answer;
mod framing;
mod message;
mod outbox;
mod oversize;

pub(super) use answer::{Reply, error_object, notification, request};
pub use answer::{error, response};
pub(super) use framing::{Line, LineReader};
pub(super) use message::{Message, messages_in};
pub use outbox::Outbox;
pub(super) use oversize::IdSearch;

/// Error codes of JSON-RPC 2.0 and MCP, and Coffer's own from -32000 downwards.
pub mod code {
    /// The text is no JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The JSON is no request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// Bad parameters, or no such tool, prompt or resource.
    pub const INVALID_PARAMS: i32 = -32602;
    /// Disabled by the user, or refused by policy.
    pub const DENIED: i32 = -32000;
    /// The upstream cannot be started or reached.
    pub const UNREACHABLE: i32 = -32010;
    /// The upstream died during the call.
    pub const DIED: i32 = -32011;
    /// The upstream did not answer in time.
    pub const TIMEOUT: i32 = -32012;
}

//! The words of the project as types. No I/O, no async, no clock.
//!
//! - `chain`: errors in one line
//! - `names`: server names and the names under which Coffer exposes things
//! - `embedding`: the vector of a text
//! - `json`: JSON text that is passed on unchanged
//! - `tool`: what a server offers, as it said it
//! - `server`: how a server is reached
//! - `secret`: what must never be shown, and how text is masked
//! - `expansion`: `${VAR}` references in a server's settings
//! - `call`: what the invocation log says of a call

mod call;
mod chain;
mod digest;
mod embedding;
mod expansion;
mod json;
mod names;
mod secret;
mod server;
mod tool;

pub use call::{CallRecord, CallStatus, Client};
pub use chain::chain;
pub use digest::base32_digest;
pub use embedding::{Embedding, TextDigest};
pub use expansion::{ExpandError, Variables, expand};
pub use json::{InvalidJson, RawJson, Splice, span_of};
pub use names::{
    Exposed, ExposedName, InvalidName, OWN_SERVER, ServerName, expose, resource_uri, slugs,
    split_resource_uri,
};
pub use secret::Masker;
pub use server::{Header, HttpTransport, Server, StdioTransport, Transport, Variable};
pub use tool::{Entry, EntryKind, Listability, Manifest, judge};

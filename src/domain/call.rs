//! What the invocation log says of a call: who, what, when, how long, how it
//! ended. Never arguments, never results.

use std::time::Duration;

/// The program at the other end of a session, as it named itself.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CallStatus {
    /// With a result.
    Ok,
    /// With an error, in-band or of the protocol.
    Error,
    /// Not within its time.
    Timeout,
    /// It was not let through: disabled, or refused by policy.
    Denied,
    /// The client took it back or went away.
    Cancelled,
}

impl CallStatus {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One row of the invocation log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CallRecord {
    /// When the call came, in milliseconds since 1970.
    pub started_ms: i64,
    /// Who called.
    pub client: std::sync::Arc<Client>,
    /// The session it came in.
    pub session: std::sync::Arc<str>,
    /// The server it was for; `coffer` for a built-in tool.
    pub server: String,
    /// `tool`, `prompt` or `resource`.
    pub kind: &'static str,
    /// The name by which the server knows what was called. Empty for a resource:
    /// its URI may carry a user's data.
    pub name: String,
    /// How long it took.
    pub duration: Duration,
    /// How it ended.
    pub status: CallStatus,
    /// The class of the error, e.g. `tool-error`, `protocol-error`, `unreachable`.
    pub error_class: Option<&'static str>,
}

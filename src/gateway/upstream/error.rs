//! Failures of starting a server and of asking it something.

use std::time::Duration;

use thiserror::Error;

use crate::domain::ExpandError;

/// What may be wrong with a server that prints, but no messages.
pub(super) const NO_MESSAGES: &str =
    "; it printed, but no line of JSON: does it speak MCP on standard output?";

/// Why a server could not be started or reached. Messages are safe to show: they
/// are masked, and hold nothing of what the server printed.
#[derive(Clone, Debug, Error)]
pub enum StartError {
    /// Its settings refer to a variable that is not set.
    #[error(transparent)]
    Unset(#[from] ExpandError),
    /// The program is not there.
    #[error("program `{0}` was not found; install it or give its full path")]
    NoProgram(String),
    /// The process could not be started.
    #[error("program `{program}` could not be started: {reason}")]
    Spawn {
        /// The program.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// It was connected, and its connection ended.
    #[error("its connection ended; it is started again")]
    Lost,
    /// It ended before the handshake was over.
    #[error("it ended before the handshake was over; `coffer show` has what it printed")]
    Ended,
    /// It did not finish the handshake in time.
    #[error("no answer to `initialize` within {}{hint}", seconds(*limit))]
    Silent {
        /// The limit.
        limit: Duration,
        /// What may be wrong with it, when something can be said.
        hint: &'static str,
    },
    /// It answered the handshake with an error.
    #[error("it refused the handshake with error {0}")]
    Refused(i64),
    /// Its answer to the handshake makes no sense.
    #[error("its answer to `initialize` is no MCP handshake")]
    Unreadable,
    /// It is connected, but its tools could not be listed.
    #[error("its list of tools is missing: it {0}")]
    NotListed(String),
    /// Its endpoint cannot be used.
    #[error("{0}")]
    Http(String),
    /// The gateway is shutting down.
    #[error("the gateway is shutting down")]
    Stopping,
}

/// Why a request brought no reply.
#[derive(Clone, Debug, Error)]
pub enum RequestError {
    /// The server cannot be started or reached.
    #[error("cannot be reached: {0}")]
    Unreachable(StartError),
    /// The connection ended while the request was under way.
    #[error("ended during the call; the call may or may not have taken effect")]
    Died,
    /// The connection ended before the request was sent: it has surely not run.
    #[error("ended before the call was sent")]
    NotSent,
    /// No reply in time.
    #[error("did not answer within {}{}", seconds(*limit), unmatched_remark(*unmatched))]
    Timeout {
        /// The limit.
        limit: Duration,
        /// Answers that belonged to no request.
        unmatched: u64,
    },
    /// The answer is larger than allowed.
    #[error("sent an answer larger than the limit of {} MiB", limit >> 20)]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// It answered with an error.
    #[error("refused with error {code}")]
    Refused {
        /// The error's code.
        code: i64,
    },
    /// The answer has neither result nor error.
    #[error("sent an answer without a readable result")]
    Empty,
    /// The endpoint refused the request.
    #[error("{0}")]
    Http(String),
}

impl RequestError {
    /// The class in the invocation log.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Died => "died",
            Self::NotSent => "not-sent",
            Self::Timeout { .. } => "timeout",
            Self::TooLarge { .. } => "too-large",
            Self::Refused { .. } => "refused",
            Self::Empty => "bad-answer",
            Self::Http(_) => "http-error",
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn unmatched_remark(unmatched: u64) -> &'static str {
    if unmatched == 0 { "" } else { "; it sent answers that belong to no request" }
}
